"""Which batches of idempotent producers must come again before any that follows them.

A client sends up to five batches ahead, and a connection's requests are served one after the other. When this broker
refuses the first because it does not lead the partition, and leads it again before it reads the second, the second
meets a gap. OUT_OF_ORDER_SEQUENCE_NUMBER would be true and costly: librdkafka then raises its producer epoch and
sends everything again that it holds, also batches of other partitions that were appended but not confirmed yet, and
those are then twice in the log. So what follows a refused batch is refused like it until that batch has come again.
The same holds for what a follower had to cut from its log.
"""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.common.limits import MAX_REFUSED_PRODUCERS
from signalbox.protocol.error_table import Error
from signalbox.protocol.records.batch_header import HEADER_SIZE, unpack_header
from signalbox.storage.producer_state import MAX_SEQUENCE, ProducerEntry

_FORGET_AFTER_MS = 120_000  # delivery.timeout.ms of clients: they have given up by then
_HALF = 1 << 30  # sequences wrap at 2^31: what is less than half the circle ahead comes later

Producers = Mapping[int, ProducerEntry]
Batch = bytearray | memoryview | bytes
_Missing = tuple[int, int, Error, int]  # producer epoch, first sequence, why it was refused, until when it counts


class RefusedSequences:
    """One partition's. `by_producer` is empty nearly always; the hot path asks for that without a call."""

    __slots__ = ("by_producer",)

    def __init__(self) -> None:
        self.by_producer: dict[int, _Missing] = {}  # the one that will be forgotten next stands first

    def note(self, batch: Batch, error: Error, producers: Producers, now_ms: int) -> None:
        """`batch` was refused with the retriable `error` before it was looked at; `producers`: the log's."""
        producer_id, epoch, sequence = _identity(batch)
        if producer_id >= 0 and sequence >= 0:
            self._remember(producer_id, (epoch, sequence, error, now_ms + _FORGET_AFTER_MS), producers)

    def note_cut(self, before: Producers, after: Producers, now_ms: int) -> None:
        """The log was truncated: the batches that its producers lost must come again."""
        for producer_id, entry in before.items():
            left = after.get(producer_id)
            if left is entry or not entry.batches:
                continue
            same_epoch = left is not None and left.producer_epoch == entry.producer_epoch and left.batches
            first_lost = left.next_sequence if left is not None and same_epoch else entry.batches[0][0]
            if first_lost != entry.next_sequence:
                error, until = Error.NOT_LEADER_OR_FOLLOWER, now_ms + _FORGET_AFTER_MS
                self._remember(producer_id, (entry.producer_epoch, first_lost, error, until), after)

    def error_for(self, batch: Batch, producers: Producers, now_ms: int) -> Error | None:
        """Why `batch` must wait for an earlier one, None when nothing is missing before it."""
        oldest = next(iter(self.by_producer))
        if now_ms >= self.by_producer[oldest][3]:
            del self.by_producer[oldest]
        producer_id, epoch, sequence = _identity(batch)
        missing = self.by_producer.get(producer_id)
        if missing is None:
            return None
        if epoch > missing[0] or now_ms >= missing[3] or _has(producers, producer_id, missing[0], missing[1]):
            del self.by_producer[producer_id]
            return None
        return missing[2] if epoch == missing[0] and _is_later(sequence, missing[1]) else None

    def _remember(self, producer_id: int, missing: _Missing, producers: Producers) -> None:
        epoch, sequence = missing[:2]
        if _has(producers, producer_id, epoch, sequence):
            return
        known = self.by_producer.get(producer_id)
        if known is None:
            if len(self.by_producer) >= MAX_REFUSED_PRODUCERS:
                del self.by_producer[next(iter(self.by_producer))]
        elif epoch < known[0]:
            return
        elif epoch == known[0] and not _has(producers, producer_id, epoch, known[1]) and _is_later(sequence, known[1]):
            return  # the first one that is missing counts
        else:
            del self.by_producer[producer_id]
        self.by_producer[producer_id] = missing


def _identity(batch: Batch) -> tuple[int, int, int]:
    """(producer id, producer epoch, first sequence); -1 where there is none."""
    if len(batch) < HEADER_SIZE:
        return -1, -1, -1
    header = unpack_header(batch, 0)
    return header[9], header[10], header[11]


def _is_later(sequence: int, other: int) -> bool:
    return 0 < (sequence - other) & MAX_SEQUENCE < _HALF


def _has(producers: Producers, producer_id: int, epoch: int, sequence: int) -> bool:
    """Whether the log has the producer's records of `epoch` up to `sequence`, or is in a later epoch."""
    entry = producers.get(producer_id)
    if entry is None or entry.producer_epoch < epoch:
        return False
    return entry.producer_epoch > epoch or (bool(entry.batches) and not _is_later(sequence, entry.last_sequence))
