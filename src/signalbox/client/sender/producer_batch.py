"""The records for one partition: batches in order, at most one of them in flight.

One batch in flight per partition makes order and sequence numbers simple: a batch keeps its sequence until it is
acknowledged or fails. If it fails although it may have been appended, its sequence numbers must not be used again: the
partition then continues with a new producer id.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from signalbox.common.ids import TopicPartition
from signalbox.protocol.records.record_batch import Record, encode_batch

_RECORD_OVERHEAD_BYTES = 21
_BATCH_OVERHEAD_BYTES = 61
_MAX_SEQUENCE = 0x7FFFFFFF


class RecordMetadata(NamedTuple):
    """The position of a record. `offset` is -1 when the broker detected a duplicate but no longer knows its offset."""

    topic_partition: TopicPartition
    offset: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class ProducerIdentity:
    """A producer id with its epoch, valid in one cluster. `transactional`: its batches belong to transactions."""

    producer_id: int
    producer_epoch: int
    cluster_id: str | None
    transactional: bool = False


class ProducerBatch:
    """The records of one batch. `created_at` and `deadline` are loop times."""

    def __init__(self, created_at: float, deadline: float) -> None:
        self.created_at = created_at
        self.deadline = deadline
        self.size_bytes = _BATCH_OVERHEAD_BYTES
        self.closed = False
        self.base_sequence = -1
        self.identity: ProducerIdentity | None = None
        self.maybe_appended = False
        self.attempts = 0
        self.last_failure: Exception | None = None
        self.records: list[Record] = []
        self.acknowledged: list[asyncio.Future[RecordMetadata]] = []
        self._encoded: bytes | None = None

    def add(self, record: Record, acknowledged: asyncio.Future[RecordMetadata]) -> None:
        self.records.append(record)
        self.acknowledged.append(acknowledged)
        self.size_bytes += size_of(record)

    def has_room(self, size_bytes: int, batch_size_bytes: int) -> bool:
        """Whether a record of this size fits into the batch."""
        return self.size_bytes + size_bytes <= batch_size_bytes

    def assign(self, identity: ProducerIdentity, base_sequence: int) -> None:
        """Give the batch its sequence numbers; a second time only under a new identity."""
        self.identity, self.base_sequence, self._encoded = identity, base_sequence, None

    def encoded(self, compression: str) -> bytes:
        """The encoded batch; the same bytes at every attempt."""
        if self._encoded is None:
            assert self.identity is not None
            self._encoded = encode_batch(
                self.records,
                compression=compression,
                producer_id=self.identity.producer_id,
                producer_epoch=self.identity.producer_epoch,
                base_sequence=self.base_sequence,
                transactional=self.identity.transactional,
            )
        return self._encoded

    def succeed(self, partition: TopicPartition, base_offset: int, log_append_time_ms: int) -> None:
        for index, (record, acknowledged) in enumerate(zip(self.records, self.acknowledged, strict=True)):
            if not acknowledged.done():
                offset = base_offset + index if base_offset >= 0 else -1
                stamp = record.timestamp if log_append_time_ms < 0 else log_append_time_ms
                acknowledged.set_result(RecordMetadata(partition, offset, stamp))

    def fail(self, error: Exception) -> None:
        for acknowledged in self.acknowledged:
            if not acknowledged.done():
                acknowledged.set_exception(error)
                acknowledged.exception()  # marks it as retrieved: the caller may ignore the future

    def halves(self) -> tuple[ProducerBatch, ProducerBatch]:
        """Two batches with the same records, for a broker that rejects one as too large."""
        middle = len(self.records) // 2
        batches = []
        for part in (slice(0, middle), slice(middle, None)):
            half = ProducerBatch(self.created_at, self.deadline)
            half.closed = True
            for record, acknowledged in zip(self.records[part], self.acknowledged[part], strict=True):
                half.add(record, acknowledged)
            batches.append(half)
        return batches[0], batches[1]


class PartitionQueue:
    """The batches for one partition, and its next sequence number."""

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.batches: deque[ProducerBatch] = deque()
        self.in_flight = False
        self.retry_at = 0.0
        self.waits_for_leader = False  # until `retry_at`, or until the view of the cluster has a usable leader
        self.identity: ProducerIdentity | None = None
        self.spent_producer_id = -1
        self.next_sequence = 0

    def is_ready(self, now: float, linger_seconds: float, flushing: bool) -> bool:
        """Whether the first batch may be sent."""
        if self.in_flight or not self.batches or now < self.retry_at:
            return False
        head = self.batches[0]
        return flushing or head.closed or now >= head.created_at + linger_seconds

    def place(self, batch: ProducerBatch, identity: ProducerIdentity) -> bool:
        """Give `batch`, the first one, its sequence if it has none. False when `identity` is spent for this partition:
        its sequence numbers were used for records that may be in the log."""
        if self.needs_other(identity):
            return False
        if self.identity is None or self.identity.cluster_id != identity.cluster_id:
            self.identity, self.next_sequence = identity, 0
        batch.closed = True
        if batch.identity != self.identity:
            batch.assign(self.identity, self.next_sequence)
            self.next_sequence = (self.next_sequence + len(batch.records)) & _MAX_SEQUENCE
        return True

    def needs_other(self, identity: ProducerIdentity) -> bool:
        """Whether only another producer id than that of `identity` gives this partition new sequences."""
        goes_on = self.identity is not None and self.identity.cluster_id == identity.cluster_id
        return not goes_on and identity.producer_id == self.spent_producer_id

    def begin_again(self) -> None:
        """Reset the sequence: the next batches are sent under another producer id."""
        if self.identity is not None:
            self.spent_producer_id = self.identity.producer_id
        self.identity, self.next_sequence = None, 0

    def restart(self) -> None:
        """A transactional producer has a higher epoch: sequences begin at 0, with the same producer id or another."""
        self.identity, self.spent_producer_id, self.next_sequence = None, -1, 0

    def unsent(self) -> list[ProducerBatch]:
        """The batches that have not left yet, which are the last ones."""
        return [batch for batch in self.batches if not batch.attempts]

    def given_up(self, batch: ProducerBatch) -> None:
        """Remove the first batch. Its sequence numbers are used again only if it certainly was not appended."""
        self.batches.popleft()
        if batch.maybe_appended:
            self.begin_again()
        elif batch.identity is not None and batch.identity == self.identity:
            self.next_sequence = batch.base_sequence


def size_of(record: Record) -> int:
    """The approximate size of a record in a batch, uncompressed, in bytes."""
    size = _RECORD_OVERHEAD_BYTES + len(record.key or b"") + len(record.value or b"")
    return size + sum(len(name) + len(value or b"") + 4 for name, value in record.headers)
