"""Incremental fetch sessions (KIP-227): the server remembers what a client fetches, both sides speak of changes only.

A session holds the partitions in the order in which they are served; a partition that gave records moves to the end,
so that none starves behind a busy one. The epoch counts the requests of a session; a request with another one than
expected is refused, and the client begins anew. A partition is left out of an incremental answer unless it has
records, an error, a diverging epoch, or another high watermark or log start offset than last told.

A fetch looks only at the partitions that may have something to say (`noisy`), however many the session has. One that
was looked at and had no news rests: it hangs in the `readers` of its `Partition`, which stirs it when anything
changes. What changes without a word (retention moves a log's start, an ACL goes) is seen by a sweep over all every few
seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from signalbox.common.ids import ZERO_UUID
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.replication.purgatory import Purgatory, WatchList

if TYPE_CHECKING:
    from signalbox.replication.partition import Partition

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
SWEEP_EVERY_MS = 5_000
LAST_EPOCH = 2**31 - 1

PartitionData = FetchResponse.PartitionData


class FetchKey(NamedTuple):
    """A partition as the client named it: by topic id (version 13 and later) or by name."""

    topic: str
    topic_id: bytes
    partition: int


class SessionPartition:
    """What is to be fetched of one partition, and what the client was last told of it."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "key",
        "last_fetched_epoch",
        "log_start_offset",
        "max_bytes",
        "rests_in",
        "session",
        "told_high_watermark",
        "told_log_start_offset",
        "topic",
    )

    def __init__(self, key: FetchKey, asked: FetchRequest.FetchPartition) -> None:
        self.key = key
        self.topic = key.topic  # the name; "" while a topic id is not known here
        self.session: FetchSession | None = None
        self.rests_in: Partition | None = None
        self.told_high_watermark = -1
        self.told_log_start_offset = -1
        self.take(asked)

    def take(self, asked: FetchRequest.FetchPartition) -> None:
        """The offsets, bounds and epochs of the client's latest request."""
        self.fetch_offset = asked.fetch_offset
        self.max_bytes = asked.partition_max_bytes
        self.log_start_offset = asked.log_start_offset
        self.current_leader_epoch = asked.current_leader_epoch
        self.last_fetched_epoch = asked.last_fetched_epoch

    def rest(self, partition: Partition) -> None:
        """There is nothing to say of it until `partition` stirs it."""
        assert self.session is not None
        self.session.noisy.pop(self, None)
        partition.readers[self] = None
        self.rests_in = partition

    def stir(self) -> None:
        """Something has changed: the next fetch looks at it."""
        if self.rests_in is not None:
            self.rests_in.readers.pop(self, None)
            self.rests_in = None
        if self.session is not None:
            self.session.noisy[self] = None

    def must_answer(self, data: PartitionData) -> bool:
        """Whether an incremental answer has to name this partition; remembers what is told."""
        if data.error_code:
            self.told_high_watermark = -1  # the next answer without an error is told in any case
            return True
        news = bool(data.records) or data.diverging_epoch.epoch >= 0 or data.preferred_read_replica >= 0
        if data.high_watermark != self.told_high_watermark:
            self.told_high_watermark = data.high_watermark
            news = True
        if data.log_start_offset != self.told_log_start_offset:
            self.told_log_start_offset = data.log_start_offset
            news = True
        return news


class FetchSession:
    """One client's partitions."""

    __slots__ = (
        "created_ms", "epoch", "from_replica", "last_used_ms", "noisy", "parked", "partitions", "replica_epoch",
        "replica_id", "session_id", "swept_ms", "uses_topic_ids",
    )  # fmt: skip

    def __init__(self, session_id: int, replica_id: int, uses_topic_ids: bool, now_ms: int) -> None:
        self.session_id = session_id
        self.replica_id = replica_id
        self.replica_epoch = -1
        self.from_replica = replica_id >= 0
        self.uses_topic_ids = uses_topic_ids
        self.epoch = 1
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.swept_ms = now_ms
        self.partitions: dict[FetchKey, SessionPartition] = {}
        self.noisy: dict[SessionPartition, None] = {}
        self.parked: WatchList = {}  # a consumer's fetch that waits for its resting partitions

    def take(self, partition: SessionPartition) -> None:
        """Make it one of the client's partitions; its next fetch looks at it."""
        self.partitions[partition.key] = partition
        partition.session = self
        self.noisy[partition] = None

    def update(self, request: FetchRequest) -> None:
        """Apply an incremental request: added, changed and forgotten partitions. A follower that has registered anew
        since the last one is a new one for all of them (KIP-903), also where nothing is to be read."""
        if request.replica_state.replica_epoch != self.replica_epoch:
            self.replica_epoch = request.replica_state.replica_epoch
            for partition in self.partitions.values():
                partition.stir()
        for key, asked in asked_partitions(request):
            known = self.partitions.get(key)
            if known is None:
                self.take(SessionPartition(key, asked))
            else:
                known.take(asked)
                known.stir()
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                self._forget(self.partitions.pop(FetchKey(topic.topic, topic.topic_id, index), None))

    def sweep(self, now_ms: int) -> None:
        """Look at everything again once in a while."""
        if now_ms - self.swept_ms >= SWEEP_EVERY_MS:
            self.swept_ms = now_ms
            for partition in self.partitions.values():
                partition.stir()

    def answered(self, partition: SessionPartition) -> None:
        """The partition gave records: the others go first next time."""
        if self.noisy.pop(partition, partition) is None:
            self.noisy[partition] = None

    @property
    def anything_rests(self) -> bool:
        """Whether news can come from partitions that are not looked at now."""
        return len(self.noisy) < len(self.partitions)

    def close(self) -> None:
        """Nobody asks any more."""
        for partition in self.partitions.values():
            self._forget(partition)
        self.partitions = {}

    def _forget(self, partition: SessionPartition | None) -> None:
        if partition is not None:
            partition.stir()
            partition.session = None
            self.noisy.pop(partition, None)


def stir_readers(readers: dict[SessionPartition, None], purgatory: Purgatory) -> None:
    """A partition has news for all who rest in it; consumers that wait look at once, followers when they are woken by
    an append."""
    for reader in list(readers):
        reader.stir()
        if reader.session is not None and not reader.session.from_replica:
            purgatory.wake(reader.session.parked)


def asked_partitions(request: FetchRequest) -> Iterator[tuple[FetchKey, FetchRequest.FetchPartition]]:
    """All partitions that a request names, in its order."""
    for topic in request.topics:
        for asked in topic.partitions:
            yield FetchKey(topic.topic, topic.topic_id, asked.partition), asked


def names_by_id(request: FetchRequest) -> bool | None:
    """Whether the request names topics by id; None when it names none."""
    ids = [topic.topic_id for topic in request.topics] or [topic.topic_id for topic in request.forgotten_topics_data]
    return ids[0] != ZERO_UUID if ids else None
