"""The report of a drill: a table for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from signalbox.testing.drill.story_result import StoryResult

_COLUMNS = ("story", "result", "served", "acked", "failed", "recovered", "lost", "twice", "misplaced", "identity")


def text_report(results: Sequence[StoryResult]) -> str:
    """A row for each story, what is wrong below the row, and `N passed, N failed` as the last line."""
    rows = [_COLUMNS, *(_row(result) for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    lines = [_line(_COLUMNS, widths)]
    for row, result in zip(rows[1:], results, strict=True):
        lines += [_line(row, widths), *(f"    {fault}" for fault in result.faults)]
    passed = sum(result.passed for result in results)
    return "\n".join([*lines, f"{passed} passed, {len(results) - passed} failed"])


def json_report(results: Sequence[StoryResult]) -> str:
    """One object for each story."""
    return json.dumps([dict(_fields(result)) for result in results], indent=2)


def _fields(result: StoryResult) -> Iterator[tuple[str, object]]:
    yield "story", result.story
    yield "passed", result.passed
    yield "faults", result.faults
    yield "served", sorted(result.served)
    yield "expected", sorted(result.expected)
    for name in ("acknowledged", "failed", "recovered_ms", "lost", "repeated", "misplaced", "sent_identity"):
        yield name, getattr(result, name)


def _row(result: StoryResult) -> tuple[str, ...]:
    return (
        result.story,
        "passed" if result.passed else "FAILED",
        f"{len(result.served)} of 3",
        str(result.acknowledged),
        str(result.failed),
        "never" if result.recovered_ms is None else f"{result.recovered_ms:.0f} ms",
        str(result.lost),
        str(result.repeated),
        str(result.misplaced),
        "sent" if result.sent_identity else "not sent",
    )


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
