"""A bench's rows: printed as they come, written to build/<target>.json, judged at the end."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

_HEAD = f"{'metric':70}{'ours':>11}{'reference':>11}{'ratio':>8}{'bound':>8}"


@dataclass(frozen=True)
class Row:
    """One line. `ratio` is judged against `bound`; a row without a reference judges its own figure (`ratio` is None
    then), one without a bound is printed beside the others and always holds."""

    metric: str
    ours: float
    reference: float | None
    ratio: float | None
    bound: float | None
    holds: bool


def at_most(metric: str, ours: float, reference: float, bound: float | None) -> Row:
    """ours ÷ reference, which may be at most `bound`."""
    ratio = ours / reference
    return Row(metric, ours, reference, ratio, bound, bound is None or ratio <= bound)


def at_least(metric: str, ours: float, reference: float, bound: float | None) -> Row:
    """reference ÷ ours, which must be at least `bound`."""
    ratio = reference / ours
    return Row(metric, ours, reference, ratio, bound, bound is None or ratio >= bound)


def absolute(metric: str, ours: float, bound: float | None) -> Row:
    """A figure that may itself be at most `bound`."""
    return Row(metric, ours, None, None, bound, bound is None or ours <= bound)


class Table:
    """Rows in the order in which they were measured."""

    def __init__(self, target: str) -> None:
        self._target = target
        self.rows: list[Row] = []

    def head(self, title: str) -> None:
        print(f"\n{title}\n{_HEAD}", flush=True)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        verdict = ("holds" if row.holds else "FAILS") if row.bound is not None else ""
        print(f"{row.metric:70}{_cell(row.ours, 11)}{_cell(row.reference, 11)}{_cell(row.ratio, 8)}"
              f"{_cell(row.bound, 8)}  {verdict}", flush=True)  # fmt: skip

    def finish(self) -> int:
        """Write the file; the exit code."""
        path = Path("build") / f"{self._target}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps([asdict(row) for row in self.rows], indent=1) + "\n")
        failed = [row.metric for row in self.rows if not row.holds]
        print(f"\n{len(self.rows) - len(failed)} rows hold, {len(failed)} fail; written to {path}")
        for metric in failed:
            print(f"  fails: {metric}")
        return 1 if failed else 0


def _cell(value: float | None, width: int) -> str:
    if value is None:
        return " " * width
    text = f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"
    return f"{text:>{width}}"
