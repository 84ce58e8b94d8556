"""The result of a run: killed mutants, survivors, and equivalent ones.

An equivalent mutant behaves as the source does, so no test can kill it: `equivalents.toml` has each with the reason.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.mutants.mutations import Mutant
from tools.mutants.run import FileResult

LEAST_SCORE = 85  # percent
MOST_EQUIVALENTS = 5  # percent of the drawn mutants


FILE = Path(__file__).parent / "equivalents.toml"
Equivalents = Mapping[tuple[str, str, str], str]
"""(path, function, change) → reason, as in `Mutant`."""


def read_equivalents(file: Path = FILE) -> Equivalents:
    """KeyError for a row without path, function, change or reason."""
    rows = tomllib.loads(file.read_text()).get("equivalent", [])
    return {(row["path"], row["function"], row["change"].strip()): row["reason"] for row in rows}


def removed_lines(change: str) -> list[str]:
    """The lines of the source that a change replaces, without indentation."""
    return [line[2:] for line in change.splitlines() if line.startswith("- ")]


class Score:
    """Counts over files. A mutant that changes no code that runs is not counted."""

    def __init__(self, equivalents: Equivalents) -> None:
        self._reasons = equivalents
        self.drawn = 0
        self.untested = 0
        self.unchanged = 0
        self.failing: dict[str, str] = {}
        self.equivalent: list[Mutant] = []
        self.survivors: list[Mutant] = []

    def add(self, result: FileResult) -> None:
        self.drawn += result.drawn
        self.untested += result.untested
        self.unchanged += result.unchanged
        self.failing |= result.failing
        for mutant in result.survivors:
            is_equivalent = (mutant.path, mutant.function, mutant.change) in self._reasons
            (self.equivalent if is_equivalent else self.survivors).append(mutant)

    @property
    def percent(self) -> float:
        """Killed ÷ all but the equivalent ones; 0 if none was drawn."""
        counted = self.drawn - self.unchanged - len(self.equivalent)
        return 100 * (counted - len(self.survivors)) / counted if counted else 0.0

    def is_enough(self) -> bool:
        return (
            not self.failing
            and self.percent >= LEAST_SCORE
            and 100 * len(self.equivalent) <= MOST_EQUIVALENTS * self.drawn
        )

    def lines(self) -> Iterator[str]:
        """The survivors with their places, tests that could not be used, and the counts."""
        for mutant in sorted(self.survivors, key=lambda each: (each.path, each.line)):
            yield f"{mutant.path}:{mutant.line} {mutant.function}"
            yield from (f"    {line}" for line in mutant.change.splitlines())
        for test, reason in sorted(self.failing.items()):
            yield f"{test} fails without a mutant and was not used:"
            yield from (f"    {line}" for line in reason.splitlines())
        killed = self.drawn - self.unchanged - len(self.equivalent) - len(self.survivors)
        yield (
            f"{self.drawn} mutants: {killed} killed, {len(self.survivors)} not killed "
            f"({self.untested} in lines that no test runs), {len(self.equivalent)} equivalent, "
            f"{self.unchanged} that change no code"
        )

    def last_line(self) -> str:
        return f"score {self.percent:.1f} %"

    def as_json(self) -> dict[str, Any]:
        """`build/mutants.json`."""
        return {
            "mutants": self.drawn,
            "untested": self.untested,
            "unchanged": self.unchanged,
            "equivalent": len(self.equivalent),
            "score_percent": round(self.percent, 1),
            "survivors": [
                {"path": each.path, "line": each.line, "function": each.function, "change": each.change}
                for each in self.survivors
            ],
        }
