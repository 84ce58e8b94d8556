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

# Rounds without a pause would open connections to every address of a cluster without end.
LEAST_PAUSE_S = 0.1


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
    every: Annotated[
        float | None, typer.Option(min=LEAST_PAUSE_S, help="Seconds between the rounds of --watch; default: 60.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=0, help="Number of rounds of --watch; default: 0, no end.")] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, max=600, help="Seconds for each name lookup, connect and request.")
    ] = 5.0,
    group: Groups = None,
    transactional_id: TransactionalIds = None,
    explain: Annotated[str | None, typer.Option(metavar="CODE", help="Print the page of a code and exit.")] = None,
) -> None:
    """Examine every address of a Kafka cluster: which node responds there, and what is wrong."""
    # What examines and reports takes longer to import than `--help` may take.
    from signalbox.cli.doctor.rounds import Request, explain_code, pause_and_rounds, run_rounds

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
    pause, count = pause_and_rounds(watch, every, rounds)
    raise typer.Exit(run_rounds(request, every=pause, rounds=count))
