"""`signalbox check server.properties ...`: checks whether these brokers would start, and would be one cluster.

Nothing is started, bound or written. Exit codes: 0 no faults (there may be warnings), 1 faults, 2 a file cannot be read
or the command line is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from signalbox.cli import connect
from signalbox.cli.connect import pairs, say, show, tell
from signalbox.cli.shell.listing import Listing
from signalbox.cli.shell.shared_options import shared

if TYPE_CHECKING:
    from signalbox.configuration.check.files import CheckedFile, Findings
    from signalbox.configuration.check.listener_summary import ListenerSummary

_COLUMNS: Mapping[str, Callable[[ListenerSummary], str]] = {
    "listener": lambda row: row.name,
    "binds": lambda row: row.bind,
    "advertises": lambda row: row.advertised or "(nothing)",
    "protocol": lambda row: row.protocol,
    "plane": lambda row: row.plane,
    "part": lambda row: row.part,
    "SASL": lambda row: row.mechanisms,
    "client auth": lambda row: row.client_auth,
    "limits": lambda row: row.limits,
}


def check(
    properties: Annotated[list[Path], typer.Argument(help="server.properties of one or more brokers.")],
    override: Annotated[list[str] | None, typer.Option(help="key=value, overrides each file; can be repeated.")] = None,
) -> None:
    """Validate brokers' configurations without starting a broker."""
    from signalbox.configuration.check.files import check_files

    pairs(override, "--override")
    findings = check_files(properties, override or [])
    summary = _summary(findings, len(properties))
    code = 2 if findings.unreadable else 1 if findings.faults else 0
    if shared().as_json:
        tell(_document(findings), "")
        raise typer.Exit(code)
    for file in findings.files:
        show(_table(file))
    for warning in findings.warnings:
        say(f"warning: {warning}")
    for line in (*findings.unreadable, *findings.faults):
        connect.errors.print(line, style="red", markup=False, highlight=False, soft_wrap=True)
    if code:
        connect.errors.print(summary, style="red", markup=False, highlight=False)
        raise typer.Exit(code)
    say(summary)


def _document(findings: Findings) -> dict[str, object]:
    return {
        "files": {file.name: _table(file) for file in findings.files},
        "warnings": list(map(str, findings.warnings)),
        "unreadable": list(map(str, findings.unreadable)),
        "faults": list(map(str, findings.faults)),
    }


def _table(file: CheckedFile) -> Listing:
    """One row per listener; a column without any value is left out."""
    rows = [[cell(listener) for cell in _COLUMNS.values()] for listener in file.listeners]
    columns_with_value = [index for index, cells in enumerate(zip(*rows, strict=True)) if any(cells)]
    titles = list(_COLUMNS)
    listing = Listing(*(titles[index] for index in columns_with_value), title=f"{file.origin}: {file.name}")
    for row in rows:
        listing.add(*(row[index] for index in columns_with_value))
    return listing


def _summary(findings: Findings, files: int) -> str:
    counts = [
        _count(files, "file"),
        _count(len(findings.unreadable) + len(findings.faults), "fault"),
        _count(len(findings.warnings), "warning"),
    ]
    left_out = files - findings.compared
    rest = f"; {left_out} not compared with the others" if left_out and findings.compared else ""
    return ", ".join(counts) + rest


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
