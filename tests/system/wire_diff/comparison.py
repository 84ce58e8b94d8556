"""Compares two responses: their differences, and which of them have a row in the conformance table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from signalbox.broker.conformance import AnswerRow

ABSENT = "(absent)"


@dataclass(frozen=True, slots=True)
class Difference:
    """One field of one response. `row` is the conformance row that explains it, if any."""

    path: str
    ours: Any
    kafka: Any
    row: AnswerRow | None


@dataclass(slots=True)
class Comparison:
    """The result of one question."""

    label: str
    differences: list[Difference] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        return not self.differences

    @property
    def explained(self) -> bool:
        """True if every difference has a row."""
        return all(difference.row is not None for difference in self.differences)


def compare(label: str, ours: Mapping[str, Any], kafka: Mapping[str, Any], rows: Iterable[AnswerRow]) -> Comparison:
    """The result of one question, from the rows of both responses."""
    api = label.split(" ", 1)[0]
    of_api = [row for row in rows if row.api == api and _matches(row.question, label)]
    comparison = Comparison(label)
    for path in sorted(ours.keys() | kafka.keys()):
        here, there = ours.get(path, ABSENT), kafka.get(path, ABSENT)
        if here == there:
            continue
        if path and ABSENT in (here, there):
            lacking = ours if here is ABSENT else kafka
            path, here, there = _absent_element(path, lacking), *_presence(here, there)
            if comparison.differences and comparison.differences[-1].path == path:
                continue
        row = next((row for row in of_api if any(_matches(glob, path) for glob in row.fields)), None)
        comparison.differences.append(Difference(path, here, there, row))
    return comparison


def _presence(here: Any, there: Any) -> tuple[Any, Any]:
    return (ABSENT, "(there)") if here is ABSENT else ("(there)", ABSENT)


def _absent_element(path: str, lacking: Mapping[str, Any]) -> str:
    """The outermost array element around `path` that the other side does not have; else the field itself."""
    for end in (index + 1 for index, letter in enumerate(path) if letter == "]"):
        if not any(other.startswith(path[:end] + ".") for other in lacking):
            return path[:end]
    return path


def _matches(glob: str, text: str) -> bool:
    """`*` matches any text; all other characters match themselves."""
    return re.fullmatch(".*".join(map(re.escape, glob.split("*"))), text) is not None


def summary(comparisons: Iterable[Comparison]) -> str:
    """`N equal, N differ (N with a row)`."""
    listed = list(comparisons)
    differ = [comparison for comparison in listed if not comparison.equal]
    explained = sum(comparison.explained for comparison in differ)
    return f"{len(listed) - len(differ)} equal, {len(differ)} differ ({explained} with a row)"
