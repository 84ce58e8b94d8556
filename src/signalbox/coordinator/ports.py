"""Ports: what the coordinators need of other packages; `wiring` passes the implementations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Protocol, TypeVar

from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.decision import CoordinatorRecord, Decision

S_co = TypeVar("S_co", covariant=True)


class CoordinatorLog(Protocol):
    """The partitions of one internal topic (`__consumer_offsets`) of which this broker may be the leader."""

    topic: str

    def append(self, partition: int, leader_epoch: int, batch: bytearray, guard: object | None = None) -> Promise[None]:
        """Append one record batch as the leader of `leader_epoch`, with acks=all. `guard`: from `start_verification`,
        for a batch of a producer's transaction; INVALID_TXN_STATE if the transaction has ended meanwhile.

        Raises KafkaError at once if nothing was written: NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS,
        KAFKA_STORAGE_ERROR, MESSAGE_TOO_LARGE … The promise completes when the high watermark has passed the batch;
        it fails with NOT_LEADER_OR_FOLLOWER if this broker lost leadership before that, REQUEST_TIMED_OUT or
        NOT_ENOUGH_REPLICAS_AFTER_APPEND if the batch is in the log but was not acknowledged in time.
        Batches of a partition are appended in the order of the calls."""
        ...

    def start_verification(self, partition: int, producer: tuple[int, int], *, raises_epochs: bool) -> object:
        """The guard with which a batch of the producer's (id, epoch) transaction must be appended, when the transaction
        coordinator has confirmed the transaction (KIP-890). `raises_epochs`: transaction version 2. Raises
        KafkaError(NOT_LEADER_OR_FOLLOWER) if this broker is not the leader."""
        ...

    def abandon_verification(self, partition: int, producer_id: int, guard: object) -> None:
        """A batch that would have been appended with `guard` was rejected for good."""
        ...

    def start_offset(self, partition: int) -> int:
        """Log start offset. Raises KafkaError(NOT_LEADER_OR_FOLLOWER) if this broker is not the leader."""
        ...

    def end_offset(self, partition: int) -> int:
        """Log end offset (not the high watermark: a leader keeps its whole log)."""
        ...

    def read(self, partition: int, from_offset: int, max_bytes: int) -> bytes | bytearray | memoryview:
        """Record batches from the one with `from_offset` on: about `max_bytes`, at least one complete batch; b"" at
        the end of the log. The first may begin below `from_offset`, the last may be incomplete."""
        ...


class RecordSerde(Protocol):
    """Encodes and decodes a shard's records."""

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """Key and value bytes; the value of a tombstone is None."""
        ...

    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        """The record, or None for a type that this release does not know (it is ignored)."""
        ...


class Timer(Protocol):
    """Deadlines by key. A key has one deadline: another `schedule` replaces it."""

    def schedule(self, key: Hashable, delay_ms: int, decide: Callable[[], Decision[None]]) -> None:
        """Run `decide` in `delay_ms` and write the records of its decision."""
        ...

    def cancel(self, key: Hashable) -> None:
        """Remove the deadline of `key`, if it has one."""
        ...


class Shard(Protocol):
    """The state of one partition of the internal topic."""

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply a committed record (while loading: any record of the log) to the state."""
        ...

    def finish_loading(self) -> Iterator[None]:
        """Start timers and so on, after the last record is replayed; yields between small pieces of work."""
        ...

    def unload(self) -> Iterator[None]:
        """Reject the waiting requests: this broker lost the partition; yields between small pieces of work."""
        ...

    def maintenance(self) -> Iterator[Decision[None]]:
        """Maintenance, every `maintenance_interval_ms`: yields decisions, each from a small piece of work."""
        ...


class MakeShard(Protocol[S_co]):
    def __call__(self, partition: int, timer: Timer) -> S_co:
        """An empty shard for `partition` that sets its deadlines with `timer`."""
        ...


class ProducerIds(Protocol):
    def next(self) -> Promise[int]:
        """A producer id that was never returned before; fails with KafkaError(COORDINATOR_LOAD_IN_PROGRESS)."""
        ...
