"""Checks that the audit trail is complete: event numbers per broker and broker epoch, from 0, without gap or repeat.

A drop (the broker's queue was full) uses up its numbers, so it is a gap here. A sequence that does not begin at 0 lost
its beginning. A number that occurs twice was written or read twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

FIRST_SEQ = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterSequence:
    """The event sequence of one broker in one broker epoch. `gaps`: missing numbers as inclusive (from, to) pairs."""

    broker_id: int
    broker_epoch: int
    events: int
    first_seq: int
    last_seq: int
    gaps: list[tuple[int, int]] = field(default_factory=list)

    @property
    def missing(self) -> int:
        """The number of events that are missing inside the sequence."""
        return sum(last - first + 1 for first, last in self.gaps)

    @property
    def duplicates(self) -> int:
        """The number of events that occur more than once."""
        return self.events - (self.last_seq - self.first_seq + 1 - self.missing)

    @property
    def complete(self) -> bool:
        """True if each number occurs once, from 0 on."""
        return not self.gaps and not self.duplicates and self.first_seq == FIRST_SEQ

    def as_json(self) -> dict[str, Any]:
        """The fields and the results of the checks as plain JSON values."""
        checks = {"missing": self.missing, "duplicates": self.duplicates, "whole": self.complete}
        return {**asdict(self), "gaps": [list(gap) for gap in self.gaps], **checks}


def writer_sequences(sequences: Iterable[Mapping[str, Any]], gaps: Iterable[Mapping[str, Any]]) -> list[WriterSequence]:
    """The writers' sequences from the rows of the roll-ups `sequences` and `gaps`, by broker and epoch."""
    ranges_by_writer: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for gap in gaps:
        writer = (gap["broker_id"], gap["broker_epoch"])
        ranges_by_writer.setdefault(writer, []).append((gap["from_seq"], gap["to_seq"]))
    results = [
        WriterSequence(
            broker_id=row["broker_id"],
            broker_epoch=row["broker_epoch"],
            events=row["events"],
            first_seq=row["first_seq"],
            last_seq=row["last_seq"],
            gaps=sorted(ranges_by_writer.get((row["broker_id"], row["broker_epoch"]), [])),
        )
        for row in sequences
    ]
    return sorted(results, key=lambda result: (result.broker_id, result.broker_epoch))
