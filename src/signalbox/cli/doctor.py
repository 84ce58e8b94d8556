"""`signalbox doctor BOOTSTRAP ...`: which node responds at each address of any Kafka cluster, and what is wrong.

Read-only. Exit status: 0 all right, 1 something is wrong, 2 the doctor cannot tell, or the command line is wrong, or a
report cannot be written, 130 interrupted before the first report. `--watch` ends with the worst status of its rounds.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from signalbox.cli.connect import console, errors, fail, say
from signalbox.cli.shell.client_file import read_client_file
from signalbox.cli.shell.shared_options import shared
from signalbox.client.failures import ConfigRejected
from signalbox.common.config.properties_file import Properties
from signalbox.doctor.checks.all_checks import find
from signalbox.doctor.compare import compare, latest
from signalbox.doctor.finding import Finding, Severity, codes, exit_status
from signalbox.doctor.observation_json import read_report, report_as_json
from signalbox.doctor.observations import Examination
from signalbox.doctor.pages import page_of
from signalbox.doctor.prober.coordinators import CoordinatorKeys
from signalbox.doctor.prober.examined_listener import ExaminedListener, Limits
from signalbox.doctor.prober.examiner import examine
from signalbox.doctor.report.html_report import html_report
from signalbox.doctor.report.junit_report import junit_report
from signalbox.doctor.report.text_report import text_report

_USAGE = 2
_INTERRUPTED = 130
_RED = ("  !!", "error:")

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
    if explain is not None:
        _explain(explain)
        return
    keys = CoordinatorKeys(groups=tuple(group or ()), transactional_ids=tuple(transactional_id or ()))
    limits = Limits(timeout_ms=max(1, int(timeout * 1000)))
    listeners = _listeners(*_places(bootstrap or [], command_config or []), limits)
    for path in (junit, html):
        _require_place(path)
    before = _earlier(other) if other is not None else None
    count, statuses = 0, set[int]()
    try:
        while True:
            examination = asyncio.run(examine(listeners, limits, keys=keys))
            findings = find(examination) + (compare(before, examination) if before is not None else [])
            statuses.add(exit_status(findings))
            _print(examination, findings, shared().as_json)
            statuses |= {
                _write(junit, junit_report(examination, findings)),
                _write(html, html_report(examination, findings)),
            }
            before, count = latest(before, examination), count + 1
            if not watch or count == rounds:
                break
            asyncio.run(asyncio.sleep(every))
    except KeyboardInterrupt:
        statuses = statuses or {_INTERRUPTED}
    raise typer.Exit(1 if 1 in statuses else max(statuses))


def _explain(code: str) -> None:
    row = codes().get(code.upper())
    if row is None:
        fail(f"there is no code {code}; the codes are {', '.join(codes())}", code=_USAGE)
    say(page_of(row).rstrip())


def _places(bootstrap: list[str], configs: list[Path]) -> tuple[list[str], list[Path]]:
    """The listeners to examine, and their files: the arguments, else what all commands share."""
    options = shared()
    if not bootstrap:
        bootstrap = [options.bootstrap]
    elif options.bootstrap_server is not None:
        fail("BOOTSTRAP and --bootstrap-server name listeners: give one of them", code=_USAGE)
    else:
        options = replace(options, bootstrap_server=bootstrap[0])  # the login of a default profile is not for it
    location = options.config_file
    return bootstrap, configs or ([Path(location)] if location else [])


def _listeners(bootstrap: list[str], configs: list[Path], limits: Limits) -> list[ExaminedListener]:
    if len(configs) > 1 and len(configs) != len(bootstrap):
        fail(f"{len(configs)} --command-config for {len(bootstrap)} BOOTSTRAP: give one, or one for each", code=_USAGE)
    properties = [read_client_file(str(path)) for path in configs] or [Properties("")]
    if len(properties) == 1:
        properties *= len(bootstrap)
    listeners: list[ExaminedListener] = []
    for text, values in zip(bootstrap, properties, strict=True):
        same = sum(1 for listener in listeners if listener.text.partition(" ")[0] == text)
        try:
            name = f"{text} ({same + 1})" if same else text
            listeners.append(ExaminedListener.of(text, values.values, limits, name, values.where))
        except (ConfigRejected, ValueError) as error:
            fail(str(error), code=_USAGE)
    return listeners


def _earlier(path: Path) -> Examination:
    try:
        return read_report(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        fail(f"{path} cannot be compared: {error}", code=_USAGE)


def _print(examination: Examination, findings: list[Finding], as_json: bool) -> None:
    findings = sorted(findings, key=lambda finding: list(Severity).index(finding.severity))
    if as_json:
        typer.echo(report_as_json(examination, findings), nl=False)
        return
    for line in text_report(examination, findings):
        style = "red" if line.startswith(_RED) else None
        console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def _require_place(path: Path | None) -> None:
    """Whether a report can be written there: better known before a run than after it."""
    if path is None:
        return
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        fail(f"{path} cannot be written: it is no file in a folder that exists and may be written", code=_USAGE)


def _write(path: Path | None, text: str) -> int:
    """The exit status: 0, or 2 if the report cannot be written. The report on the terminal is there in any case."""
    if path is None:
        return 0
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        errors.print(f"{path} cannot be written: {error}", style="red", markup=False, soft_wrap=True)
        return _USAGE
    return 0
