"""Which records of a topic a table has: its stream from its beginning on, and ranges that were added from before it.

Arithmetic only. A backfill is planned as ranges that the table does not have, so that no record comes twice, whichever
ranges are asked for and however often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FlatOffsets = Mapping[str, int]  # {"topic:partition": offset}


@dataclass(frozen=True, slots=True)
class Span:
    """From one offset per partition to another, both for the same partitions: the records [start, end) of each."""

    start: FlatOffsets
    end: FlatOffsets

    @property
    def count(self) -> int:
        """The number of offsets."""
        return sum(end - self.start[where] for where, end in self.end.items())


def missing_spans(asked: Span, begin: FlatOffsets, added: Sequence[Span]) -> list[Span]:
    """The parts of `asked` that a table lacks which began at `begin` and got `added`; partitions that are not in
    `begin` were read from 0 on.

    Holes between added ranges make several parts; the first part has the first hole of every partition, and so on.
    """
    holes = {
        where: _holes(
            (first, min(asked.end[where], begin.get(where, 0))),
            sorted((span.start[where], span.end[where]) for span in added if where in span.start),
        )
        for where, first in asked.start.items()
    }
    spans = []
    for number in range(max(map(len, holes.values()), default=0)):
        chosen = {where: found[number] for where, found in holes.items() if number < len(found)}
        spans.append(
            Span(
                {where: first for where, (first, _) in chosen.items()},
                {where: end for where, (_, end) in chosen.items()},
            )
        )
    return spans


def _holes(asked: tuple[int, int], taken: list[tuple[int, int]]) -> list[tuple[int, int]]:
    position, end = asked
    holes = []
    for first, last in taken:
        if first > position and position < end:
            holes.append((position, min(first, end)))
        position = max(position, last)
    if position < end:
        holes.append((position, end))
    return holes
