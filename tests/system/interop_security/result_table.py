"""The matrix as a table: printed by `make interop-security`, and written as the page docs/interop.md when asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from tests.system.interop_security.matrix import CLIENTS, FAULTS, KINDS, NOT_CELLS

Cell = tuple[str, str]
PASSED, FAILED, NO_CELL, NOT_RUN = "pass", "FAIL", "-", "not run"


class Results:
    """A pytest plugin: how each cell, (row, client), went."""

    def __init__(self) -> None:
        self._cells: dict[str, Cell] = {}
        self.outcomes: dict[Cell, str] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
                parameters = item.callspec.params
                self._cells[item.nodeid] = (str(parameters["row"]), str(parameters["client"]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        cell = self._cells.get(report.nodeid)
        if cell is not None:
            before = self.outcomes.get(cell, PASSED)
            self.outcomes[cell] = before if report.passed else FAILED


def summary(outcomes: Mapping[Cell, str]) -> str:
    """One sentence: how many cells there are, and how they went."""
    passed = sum(outcome == PASSED for outcome in outcomes.values())
    return f"{len(outcomes)} cells: {passed} pass, {len(outcomes) - passed} fail, none is skipped."


def render(outcomes: Mapping[Cell, str], versions: Mapping[str, str], ran: str) -> str:
    """The page. `ran` says when and with what the brokers ran."""
    parts = [
        "# Clients and security protocols",
        "",
        "Written by `make interop-security PAGE=docs/interop.md`, not by hand. Two brokers with all of these listeners",
        "at once, unmodified clients. " + ran,
        "",
        summary(outcomes),
        "",
        "## Who gets in",
        "",
        "100 records produced with acks=all by an idempotent producer, read back in a group (by kcat as a plain",
        "consumer), topics listed. PLAIN's user is the login module's, SCRAM's the metadata's; tokens are signed.",
        "",
        *_table(KINDS, outcomes),
        "",
        "## Who stays outside",
        "",
        "Refused within 10 seconds, with the client's own words for it (`tests/system/interop_security/refusals.py`).",
        "",
        *_table(FAULTS, outcomes),
        "",
        "## What is no cell",
        "",
        *([f"- {each.client}, {each.row}: {each.reason} ({each.source})" for each in NOT_CELLS] or ["Nothing."]),
        "",
        "## Versions",
        "",
        *(f"- {name}: {version}" for name, version in versions.items()),
    ]
    return "\n".join(parts) + "\n"


def _table(rows: Iterable[str], outcomes: Mapping[Cell, str]) -> list[str]:
    none = {(each.row, each.client) for each in NOT_CELLS}
    lines = [["", *CLIENTS], *([row, *(_outcome(outcomes, (row, client), none) for client in CLIENTS)] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    lines.insert(1, ["-" * width for width in widths])
    return ["| " + " | ".join(text.ljust(width) for text, width in zip(line, widths)) + " |" for line in lines]


def _outcome(outcomes: Mapping[Cell, str], cell: Cell, none: set[Cell]) -> str:
    return NO_CELL if cell in none else outcomes.get(cell, NOT_RUN)
