"""What the producers were told: which record was acknowledged where, and when.

Written by the delivery callbacks, one thread a producer; read when they have ended, but for the counts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class RecordId:
    """A record's own name: who sent it, as which of its own (counted from 0)."""

    producer: int
    number: int

    def encode(self) -> bytes:
        """As it stands at the head of the record's value."""
        return b"%d %d " % (self.producer, self.number)


def decode_record_id(value: bytes) -> RecordId:
    """The id at the head of a value."""
    producer, number, _ = value.split(b" ", 2)
    return RecordId(int(producer), int(number))


@dataclass
class Ledger:
    """`acknowledged`: partition and offset by record (offset -1: the broker knew it already and did not say where)."""

    acknowledged: dict[RecordId, tuple[int, int]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    times: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))

    def acknowledge(self, record: RecordId, partition: int, offset: int, now_s: float) -> None:
        """A delivery report without an error."""
        self.acknowledged[record] = (partition, offset)
        self.times[partition].append(now_s)

    def refuse(self, record: RecordId, reason: str) -> None:
        """A delivery report with one: with idempotence and no deadline there should be none."""
        self.refused.append(f"{record}: {reason}")


def longest_silences(times: Iterable[list[float]], since_s: float, until_s: float) -> list[float]:
    """For each partition the longest time without an acknowledgement that touches the span, longest first."""
    found = []
    for unsorted in times:
        ordered = sorted(unsorted)
        first = max(0, bisect_right(ordered, since_s) - 1)
        last = min(len(ordered), bisect_left(ordered, until_s) + 1)
        found.append(max((later - earlier for earlier, later in pairwise(ordered[first:last])), default=0.0))
    return sorted(found, reverse=True)
