"""Rejected batches of idempotent producers: they must be retried before any batch that follows them.

A client has up to five batches in flight, and a connection's requests are handled one after the other. Suppose this
broker rejects the first because it is not the leader, and is the leader again before it reads the second: then there is
a gap before the second. OUT_OF_ORDER_SEQUENCE_NUMBER would be correct but costly: librdkafka then raises its producer
epoch and resends everything in its queues, also batches of other partitions that were appended but not acknowledged
yet, and those are then in the log twice. So batches after a rejected one get the same error until it is retried.
The same holds for batches that a follower had to truncate, and for batches that a producer may have sent to the
previous leader: the new leader may receive a later batch first.
"""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.common.limits import MAX_REJECTED_PRODUCERS
from signalbox.protocol.error_table import Error
from signalbox.protocol.records.batch_header import HEADER_SIZE, unpack_header
from signalbox.storage.producers.producer_state import MAX_SEQUENCE, ProducerEntry

_FORGET_AFTER_MS = 120_000  # delivery.timeout.ms of clients: the batch has failed there by then
_MAY_BE_ELSEWHERE_MS = 5_000  # after an election: batches that were sent to the previous leader are retried by then
_HALF = 1 << 30  # sequences wrap at 2^31: a sequence is later if it is less than half of that ahead

Producers = Mapping[int, ProducerEntry]
Batch = bytearray | memoryview | bytes
_Missing = tuple[int, int, Error, int]  # producer epoch, first sequence, error of the rejection, expiry time in ms


class RejectedSequences:
    """Those of one partition. `by_producer` is nearly always empty; the fast path checks that without a call."""

    __slots__ = ("by_producer",)

    def __init__(self) -> None:
        self.by_producer: dict[int, _Missing] = {}  # the next entry to expire is first

    def note(self, batch: Batch, error: Error, producers: Producers, now_ms: int) -> None:
        """`batch` was rejected with the retriable `error` before validation. `producers`: the log's."""
        producer_id, epoch, sequence = _identity(batch)
        if producer_id >= 0 and sequence >= 0:
            self._remember(producer_id, (epoch, sequence, error, now_ms + _FORGET_AFTER_MS), producers)

    def note_gap(self, batch: Batch, producers: Producers, led_since: tuple[int, int], now_ms: int) -> bool:
        """`batch` is out of order. True if this leader is new (`led_since`: offset, time in ms) and has appended
        nothing of the producer yet: the missing batches may have gone to the previous leader and must come first."""
        producer_id, epoch, sequence = _identity(batch)
        start_offset, since_ms = led_since
        entry, until_ms = producers.get(producer_id), since_ms + _MAY_BE_ELSEWHERE_MS
        if entry is None or entry.producer_epoch != epoch or not entry.batches or now_ms >= until_ms:
            return False
        expected = entry.next_sequence
        if entry.last_offset >= start_offset or not _is_later(sequence, expected):
            return False
        self._remember(producer_id, (epoch, expected, Error.NOT_LEADER_OR_FOLLOWER, until_ms), producers)
        return True

    def note_truncation(self, before: Producers, after: Producers, now_ms: int) -> None:
        """The log was truncated: the producers must retry the batches that were removed."""
        for producer_id, entry in before.items():
            remaining = after.get(producer_id)
            if remaining is entry or not entry.batches:
                continue
            same_epoch = (
                remaining is not None and remaining.producer_epoch == entry.producer_epoch and remaining.batches
            )
            first_lost = remaining.next_sequence if remaining is not None and same_epoch else entry.batches[0][0]
            if first_lost != entry.next_sequence:
                error, until = Error.NOT_LEADER_OR_FOLLOWER, now_ms + _FORGET_AFTER_MS
                self._remember(producer_id, (entry.producer_epoch, first_lost, error, until), after)

    def error_for(self, batch: Batch, producers: Producers, now_ms: int) -> Error | None:
        """The error for `batch` if an earlier batch must come first; None if none is missing."""
        oldest = next(iter(self.by_producer))
        if now_ms >= self.by_producer[oldest][3]:
            del self.by_producer[oldest]
        producer_id, epoch, sequence = _identity(batch)
        missing = self.by_producer.get(producer_id)
        if missing is None:
            return None
        if epoch > missing[0] or now_ms >= missing[3] or _has_appended(producers, producer_id, missing[0], missing[1]):
            del self.by_producer[producer_id]
            return None
        return missing[2] if epoch == missing[0] and _is_later(sequence, missing[1]) else None

    def _remember(self, producer_id: int, missing: _Missing, producers: Producers) -> None:
        epoch, sequence = missing[:2]
        if _has_appended(producers, producer_id, epoch, sequence):
            return
        existing = self.by_producer.get(producer_id)
        if existing is None:
            if len(self.by_producer) >= MAX_REJECTED_PRODUCERS:
                del self.by_producer[next(iter(self.by_producer))]
        elif epoch < existing[0]:
            return
        elif (
            epoch == existing[0]
            and not _has_appended(producers, producer_id, epoch, existing[1])
            and _is_later(sequence, existing[1])
        ):
            return  # the first missing one is kept
        else:
            del self.by_producer[producer_id]
        self.by_producer[producer_id] = missing


def _identity(batch: Batch) -> tuple[int, int, int]:
    """(producer id, producer epoch, first sequence); -1 if there is none."""
    if len(batch) < HEADER_SIZE:
        return -1, -1, -1
    header = unpack_header(batch, 0)
    return header[9], header[10], header[11]


def _is_later(sequence: int, other: int) -> bool:
    return 0 < (sequence - other) & MAX_SEQUENCE < _HALF


def _has_appended(producers: Producers, producer_id: int, epoch: int, sequence: int) -> bool:
    """Whether the log has the producer's records of `epoch` up to `sequence`, or is in a later epoch."""
    entry = producers.get(producer_id)
    if entry is None or entry.producer_epoch < epoch:
        return False
    return entry.producer_epoch > epoch or (bool(entry.batches) and not _is_later(sequence, entry.last_sequence))
