"""`signalbox doctor BOOTSTRAP ...`: which node responds at each address of any Kafka cluster, and what is wrong.

Read-only. Exit status: 0 all right, 1 something is wrong, 2 the doctor cannot tell, or the command line is wrong, or a
report cannot be written, 130 interrupted before the first report. `--watch` ends with the worst status of its rounds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Groups = Annotated[list[str] | None, typer.Option(help="Also ask for the coordinator of this group; can be repeated.")]
TransactionalIds = Annotated[list[str] | None, typer.Option(help="The same for a transactional id; can be repeated.")]


def doctor(
    bootstrap: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BOOTSTRAP...",
            help="host:port,... of one listener, in place of -b; several listeners are compared.",
        ),
    ] = None,
    command_config: Annotated[
        list[Path] | None,
        typer.Option(help="Client properties file; one for all BOOTSTRAP, or one for each in the same order."),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write the report as JUnit XML to this file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the report as an HTML page to this file.")] = None,
    other: Annotated[
        Path | None, typer.Option("--compare", help="Compare with an earlier report, or one of another host (--json).")
    ] = None,
    watch: Annotated[bool, typer.Option(help="Repeat, and report changes between the rounds.")] = False,
    every: Annotated[float, typer.Option(min=0.0, help="Seconds between the rounds of --watch.")] = 60.0,
    rounds: Annotated[int, typer.Option(min=0, help="Number of rounds of --watch, 0 for no end.")] = 0,
    timeout: Annotated[
        float, typer.Option(min=0.1, max=600, help="Seconds for each name lookup, connect and request.")
    ] = 5.0,
    group: Groups = None,
    transactional_id: TransactionalIds = None,
    explain: Annotated[str | None, typer.Option(metavar="CODE", help="Print the page of a code and exit.")] = None,
) -> None:
    """Examine every address of a Kafka cluster: which node responds there, and what is wrong."""
    # What examines and reports takes longer to import than `--help` may take.
    from signalbox.cli.doctor.rounds import Request, explain_code, run_rounds

    if explain is not None:
        explain_code(explain)
        return
    request = Request(
        bootstrap=bootstrap or [],
        configs=command_config or [],
        groups=tuple(group or ()),
        transactional_ids=tuple(transactional_id or ()),
        timeout_seconds=timeout,
        junit=junit,
        html=html,
        other=other,
    )
    raise typer.Exit(run_rounds(request, every=every, rounds=rounds if watch else 1))
