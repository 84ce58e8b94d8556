"""`signalbox check server.properties ...`: checks whether these brokers would start, and would be one cluster.

Nothing is started, bound or written. Exit codes: 0 no faults (there may be warnings), 1 faults, 2 a file cannot be read
or the command line is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from signalbox.cli.connect import errors, say, show
from signalbox.wiring.check.files import CheckedFile, Findings, check_files
from signalbox.wiring.check.listener_summary import ListenerSummary

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
    properties: Annotated[list[Path], typer.Argument(help="server.properties of one broker, or of several.")],
    override: Annotated[list[str] | None, typer.Option(help="key=value, over each file's; can be repeated.")] = None,
) -> None:
    """Check brokers' configurations without starting anything."""
    found = check_files(properties, override or [])
    for file in found.files:
        show(_table(file))
    for warning in found.warnings:
        say(f"warning: {warning}")
    for line in (*found.unreadable, *found.faults):
        errors.print(line, style="red", markup=False, highlight=False, soft_wrap=True)
    if found.unreadable or found.faults:
        errors.print(_verdict(found, len(properties)), style="red", markup=False, highlight=False)
        raise typer.Exit(2 if found.unreadable else 1)
    say(_verdict(found, len(properties)))


def _table(file: CheckedFile) -> Table:
    """One row per listener; a column without any value is left out."""
    rows = [[cell(listener) for cell in _COLUMNS.values()] for listener in file.listeners]
    said = [index for index, cells in enumerate(zip(*rows, strict=True)) if any(cells)]
    table = Table(title=f"{file.origin}: {file.name}")
    for title in [list(_COLUMNS)[index] for index in said]:
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*(row[index] for index in said))
    return table


def _verdict(found: Findings, files: int) -> str:
    counts = [
        _count(files, "file"),
        _count(len(found.unreadable) + len(found.faults), "fault"),
        _count(len(found.warnings), "warning"),
    ]
    left_out = files - found.compared
    rest = f"; {left_out} not compared with the others" if left_out and found.compared else ""
    return ", ".join(counts) + rest


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
