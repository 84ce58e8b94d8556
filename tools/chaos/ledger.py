"""Delivery reports of the producers: which record was acknowledged at which offset, and when.

Written by the delivery callbacks, one thread per producer. Only the counts may be read before the producers have ended.
"""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any


@dataclass(frozen=True, slots=True)
class RecordId:
    """A record's identity: its producer and its number among that producer's records (counted from 0)."""

    producer: int
    number: int

    def encode(self) -> bytes:
        """The bytes at the start of the record's value."""
        return b"%d %d " % (self.producer, self.number)


def decode_record_id(value: bytes) -> RecordId:
    """The id at the start of a value."""
    producer, number, _ = value.split(b" ", 2)
    return RecordId(int(producer), int(number))


@dataclass
class Ledger:
    """`acknowledged`: partition and offset by record (offset -1: a duplicate without a known offset)."""

    acknowledged: dict[RecordId, tuple[int, int]] = field(default_factory=dict)
    rejected: list[str] = field(default_factory=list)
    times: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))

    def acknowledge(self, record: RecordId, partition: int, offset: int, now_s: float) -> None:
        """Records a delivery report without an error."""
        self.acknowledged[record] = (partition, offset)
        self.times[partition].append(now_s)

    def reported(self, record: RecordId) -> Callable[[Any, Any], None]:
        """The delivery callback of a record."""

        def report(error: Any, message: Any) -> None:
            if error is None:
                offset = message.offset()
                self.acknowledge(record, message.partition(), -1 if offset is None else offset, time.monotonic())
            else:
                self.reject(record, str(error))

        return report

    def reject(self, record: RecordId, reason: str) -> None:
        """Records a delivery report with an error: with idempotence and no deadline there should be none."""
        self.rejected.append(f"{record}: {reason}")


def longest_silences(times: Iterable[list[float]], since_s: float, until_s: float) -> list[float]:
    """For each partition the longest time without an acknowledgement that touches the span, longest first."""
    found = []
    for unsorted in times:
        ordered = sorted(unsorted)
        first = max(0, bisect_right(ordered, since_s) - 1)
        last = min(len(ordered), bisect_left(ordered, until_s) + 1)
        found.append(max((later - earlier for earlier, later in pairwise(ordered[first:last])), default=0.0))
    return sorted(found, reverse=True)
