"""The rounds of the doctor: examine, find, compare with the round before, write the reports."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, replace
from pathlib import Path

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
_PAUSE_S = 60.0
_RED = ("  !!", "error:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is examined, the reports to write, and the earlier report to compare with.

    `bootstrap`: a text for each listener; `configs`: their client properties files.
    """

    bootstrap: list[str]
    configs: list[Path]
    groups: tuple[str, ...]
    transactional_ids: tuple[str, ...]
    timeout_seconds: float
    junit: Path | None
    html: Path | None
    other: Path | None


def run_rounds(request: Request, *, every: float, rounds: int) -> int:
    """Examines `rounds` times, `every` so many seconds (0 = until it is interrupted); returns the exit status."""
    keys = CoordinatorKeys(groups=request.groups, transactional_ids=request.transactional_ids)
    limits = Limits(timeout_ms=max(1, int(request.timeout_seconds * 1000)))
    listeners = _listeners(*_places(request.bootstrap, request.configs), limits)
    for path in (request.junit, request.html):
        _require_place(path)
    before = _earlier(request.other) if request.other is not None else None
    count, statuses = 0, set[int]()
    try:
        while True:
            examination = asyncio.run(examine(listeners, limits, keys=keys))
            findings = find(examination) + (compare(before, examination) if before is not None else [])
            statuses.add(exit_status(findings))
            _print(examination, findings, shared().as_json)
            statuses |= {
                _write(request.junit, junit_report(examination, findings)),
                _write(request.html, html_report(examination, findings)),
            }
            before, count = latest(before, examination), count + 1
            if count == rounds:
                break
            asyncio.run(asyncio.sleep(every))
    except KeyboardInterrupt:
        statuses = statuses or {_INTERRUPTED}
    return 1 if 1 in statuses else max(statuses)


def pause_and_rounds(watch: bool, every: float | None, rounds: int | None) -> tuple[float, int]:
    """`every` and `rounds` of `run_rounds`; None is an option that was not given."""
    if not watch:
        names = [name for name, value in (("--every", every), ("--rounds", rounds)) if value is not None]
        if names:
            fail(f"{' and '.join(names)} without --watch: one round has no pause; add --watch", code=_USAGE)
        return _PAUSE_S, 1
    return (_PAUSE_S if every is None else every), rounds or 0


def explain_code(code: str) -> None:
    """Prints the page of a code."""
    row = codes().get(code.upper())
    if row is None:
        fail(f"there is no code {code}; the codes are {', '.join(codes())}", code=_USAGE)
    for line in page_of(row).rstrip().splitlines():
        say(line)


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
