"""A bench's rows: printed when measured, written to build/<target>.json, checked at the end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bench.measured.recording import save
from bench.measured.run_file import RunRow

_NOISE_BOUND = 25.0  # percent of a core: with more beside it, processor time and latencies say little
_HEAD = f"{'metric':70}{'ours':>11}{'reference':>11}{'ratio':>8}{'bound':>8}"


@dataclass(frozen=True)
class Spread:
    """The lowest and the highest figure of the rounds."""

    ours: tuple[float, float]
    reference: tuple[float, float] | None = None
    ratio: tuple[float, float] | None = None

    @classmethod
    def of(cls, ours: Sequence[float], reference: Sequence[float] = (), ratios: Sequence[float] = ()) -> Spread:
        """Of all figures; sides without figures have none."""
        return cls(*((min(each), max(each)) if each else None for each in (ours, reference, ratios)))  # type: ignore[arg-type]

    def __str__(self) -> str:
        named = (("ours", self.ours), ("reference", self.reference), ("ratio", self.ratio))
        return ", ".join(f"{name} {_text(ends[0])}..{_text(ends[1])}" for name, ends in named if ends)


@dataclass(frozen=True)
class Row:
    """One line. `ratio` is compared with `bound`; in a row without a reference its own figure is (`ratio` is None
    then). A row without a bound is not checked: `holds` is None, and it is counted separately. The metric ends with a
    comma and its unit. `lower_bound`: the figure must be at least `bound`, not at most. `spread`: of the rounds whose
    medians the figures are."""

    metric: str
    ours: float
    reference: float | None
    ratio: float | None
    bound: float | None
    holds: bool | None
    lower_bound: bool = False
    spread: Spread | None = None


def at_most(metric: str, ours: float, reference: float, bound: float | None) -> Row:
    """ours ÷ reference, which may be at most `bound`."""
    ratio = ours / reference
    return Row(metric, ours, reference, ratio, bound, None if bound is None else ratio <= bound)


def at_least(metric: str, ours: float, reference: float, bound: float | None) -> Row:
    """reference ÷ ours, which must be at least `bound`."""
    ratio = reference / ours
    return Row(metric, ours, reference, ratio, bound, None if bound is None else ratio >= bound, True)


def absolute(metric: str, ours: float, bound: float | None) -> Row:
    """A figure with an upper bound of its own."""
    return Row(metric, ours, None, None, bound, None if bound is None else ours <= bound)


def absolute_at_least(metric: str, ours: float, bound: float) -> Row:
    """A figure with a lower bound of its own."""
    return Row(metric, ours, None, None, bound, ours >= bound, True)


def run_row(row: Row) -> RunRow:
    """The row as it is recorded, its unit apart."""
    metric, _, unit = row.metric.rpartition(", ")
    return RunRow(metric, unit, row.ours, row.reference, row.ratio, row.bound, row.lower_bound, row.holds, None)


class Table:
    """Rows in the order in which they were measured."""

    def __init__(self, target: str) -> None:
        self._target = target
        self.rows: list[Row] = []

    def head(self, title: str) -> None:
        print(f"\n{title}\n{_HEAD}", flush=True)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        holds = {True: "holds", False: "FAILS", None: ""}[row.holds]
        rounds = f"  {row.spread}" if row.spread else ""
        print(f"{row.metric:70}{_cell(row.ours, 11)}{_cell(row.reference, 11)}{_cell(row.ratio, 8)}"
              f"{_cell(row.bound, 8)}  {holds:5}{rounds}".rstrip(), flush=True)  # fmt: skip

    def note_noise(self, percent: float) -> None:
        """`percent` of a core was used by processes that are no part of the bench. If that is too much, ratios are not
        evaluated: their bounds are dropped."""
        print(f"\nnoise: other processes used {percent:.0f} % of a core, at most {_NOISE_BOUND:.0f} % are quiet")
        self.rows.append(absolute("noise: others' processor time, % of a core", percent, None))
        if percent > _NOISE_BOUND:
            bounded = [row for row in self.rows if row.ratio is not None and row.bound is not None]
            for row in bounded:
                print(f"  not evaluated: {row.metric}")
            self.rows = [replace(row, bound=None, holds=None) if row in bounded else row for row in self.rows]

    def finish(self, *, saved: bool = False) -> int:
        """Writes the file, and one of bench/history if `saved`; returns the exit code."""
        path = Path("build") / f"{self._target}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps([asdict(row) for row in self.rows], indent=1) + "\n")
        holding = sum(row.holds is True for row in self.rows)
        failed = [row.metric for row in self.rows if row.holds is False]
        unjudged = len(self.rows) - holding - len(failed)
        print(f"\n{holding} rows hold, {len(failed)} fail, {unjudged} without a bound; written to {path}")
        for metric in failed:
            print(f"  fails: {metric}")
        if saved:
            print(f"saved as {save(self._target, map(run_row, self.rows))}")
        return 1 if failed else 0


def _cell(value: float | None, width: int) -> str:
    if value is None:
        return " " * width
    return f"{_text(value):>{width}}"


def _text(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"
