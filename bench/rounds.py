"""Rounds of ours and of a reference in turn, A B A B: medians, the median of the rounds' ratios, and their spread.

A slow moment of the machine makes both sides of a round dearer: the ratio of a round changes less than its figures.
"""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from bench.table import Row, Spread

S = TypeVar("S")


@dataclass(frozen=True)
class Rounds:
    """One figure, round by round. `reference` is empty if there is none."""

    ours: tuple[float, ...]
    reference: tuple[float, ...] = ()

    def __add__(self, later: Rounds) -> Rounds:
        """All rounds of both; without a reference if one of them has none."""
        reference = self.reference + later.reference if self.reference and later.reference else ()
        return Rounds(self.ours + later.ours, reference)

    def row(self, metric: str, bound: float | None, *, higher_is_better: bool = False) -> Row:
        """The ratio is ours ÷ reference, or reference ÷ ours of a figure that should be high, and may be at most
        `bound`. A row with a bound fails without a reference."""
        ours = statistics.median(self.ours)
        if not self.reference:
            return Row(metric, ours, None, None, bound, None if bound is None else False, spread=Spread.of(self.ours))
        pairs = list(zip(self.ours, self.reference, strict=True))
        ratios = [theirs / own if higher_is_better else own / theirs for own, theirs in pairs]
        ratio = statistics.median(ratios)
        spread = Spread.of(self.ours, self.reference, ratios)
        holds = None if bound is None else ratio <= bound
        return Row(metric, ours, statistics.median(self.reference), ratio, bound, holds, spread=spread)

    def own_row(self, metric: str, bound: float | None) -> Row:
        """Our median alone, which may be at most `bound`."""
        ours = statistics.median(self.ours)
        return Row(
            metric, ours, None, None, bound, None if bound is None else ours <= bound, spread=Spread.of(self.ours)
        )


class Interleaved(Generic[S]):
    """Ours and a reference, both ready to be measured; one of them is measured at a time. A reference that fails is
    reported, and not measured again. `reference` is None then."""

    def __init__(self, ours: S, reference: S | None) -> None:
        self.ours = ours
        self.reference = reference

    def measure(self, measure: Callable[[S], Mapping[str, float]], rounds: int, *, warm: int = 0) -> dict[str, Rounds]:
        """The figures by name, after `warm` rounds that do not count."""
        ours: list[Mapping[str, float]] = []
        reference: list[Mapping[str, float]] = []
        for _ in range(warm + rounds):
            ours.append(measure(self.ours))
            if self.reference is None:
                continue
            try:
                reference.append(measure(self.reference))
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                print(f"the reference was not measured: {error}", flush=True)
                self.reference = None
        counted = [] if self.reference is None else reference[warm:]
        names = ours[-1]
        return {name: Rounds(_column(name, ours[warm:]), _column(name, counted)) for name in names}


def _column(name: str, figures: list[Mapping[str, float]]) -> tuple[float, ...]:
    """Empty if a side does not have the figure."""
    return tuple(each[name] for each in figures if name in each)
