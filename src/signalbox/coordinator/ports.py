"""What the coordinators need of the rest of the house, in their own words; `wiring` plugs it in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterator
from typing import Protocol, TypeVar

from signalbox.coordinator.decision import CoordinatorRecord, Decision

S_co = TypeVar("S_co", covariant=True)


class CoordinatorLog(Protocol):
    """The partitions of one internal topic (`__consumer_offsets`) of which this broker may be the leader."""

    def append(self, partition: int, leader_epoch: int, batch: bytearray) -> Awaitable[None]:
        """Append one record batch as the leader of `leader_epoch`, with acks=all.

        Raises KafkaError at once when nothing was written: NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS,
        KAFKA_STORAGE_ERROR, MESSAGE_TOO_LARGE … The awaitable ends when the high watermark has passed the batch;
        it raises NOT_LEADER_OR_FOLLOWER when leadership went away first, REQUEST_TIMED_OUT or
        NOT_ENOUGH_REPLICAS_AFTER_APPEND when the batch is in the log but was not acknowledged in time.
        Batches of a partition are appended in the order of the calls."""
        ...

    def start_offset(self, partition: int) -> int:
        """Log start offset. Raises KafkaError(NOT_LEADER_OR_FOLLOWER) when this broker does not lead it."""
        ...

    def end_offset(self, partition: int) -> int:
        """Log end offset (not the high watermark: a leader owns what it has)."""
        ...

    def read(self, partition: int, from_offset: int, max_bytes: int) -> bytes | bytearray | memoryview:
        """Record batches from the one that holds `from_offset`, about `max_bytes`, at least one whole; b"" at the end
        of the log. The first may begin below `from_offset`, the last may be cut short."""
        ...


class RecordSerde(Protocol):
    """The bytes of a shard's records."""

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """Key and value bytes; the value of a tombstone is None."""
        ...

    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        """The record, or None for a kind this release does not know (it is left alone)."""
        ...


class Timer(Protocol):
    """Deadlines by key. One key has one deadline: scheduling again moves it."""

    def schedule(self, key: Hashable, delay_ms: int, decide: Callable[[], Decision[None]]) -> None:
        """Run `decide` in `delay_ms` and write what it decides."""
        ...

    def cancel(self, key: Hashable) -> None:
        """Forget the deadline of `key`, if it has one."""
        ...


class Shard(Protocol):
    """The state of one partition of the internal topic."""

    def replay(self, record: CoordinatorRecord) -> None:
        """Take a committed (or, while loading, a logged) record into the state."""
        ...

    def finish_loading(self) -> Iterator[None]:
        """After the last record: start timers, and so on; yields between two small pieces of work."""
        ...

    def unload(self) -> Iterator[None]:
        """The partition is no longer ours: refuse whoever waits; yields between two small pieces of work."""
        ...

    def chores(self) -> Iterator[Decision[None]]:
        """Housekeeping due every `chore_interval_ms`: yields decisions, each made of a small piece of work."""
        ...


class MakeShard(Protocol[S_co]):
    def __call__(self, partition: int, timer: Timer) -> S_co:
        """An empty shard for `partition`; its deadlines go through `timer`."""
        ...
