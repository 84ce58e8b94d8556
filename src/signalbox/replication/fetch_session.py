"""Incremental fetch sessions (KIP-227): the broker keeps a client's partitions; each message has only changes.

A session keeps the partitions in the order in which they are read; a partition that returned records moves to the end,
so that a busy partition does not starve the others. The epoch counts the requests of a session; a request with another
epoch is rejected, and the client starts a new session. An incremental response contains a partition only if it has
records, an error, a diverging epoch, or another high watermark or log start offset than was last sent.

A fetch reads only the dirty partitions (`noisy`), however many the session has. A partition that was read and has no
changes becomes clean (`rest`): it is in the `readers` of its `Partition`, which marks it dirty again (`stir`) at the
next change. Changes without a notification (retention moves a log's start, an ACL is removed) are found because all
partitions are marked dirty every few seconds (`sweep`).
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
    """A partition of a fetch: offsets and limits of the request, and the offsets that were last sent."""

    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "key",
        "last_fetched_epoch",
        "last_sent_high_watermark",
        "log_start_offset",
        "max_bytes",
        "rests_in",
        "session",
        "told_log_start_offset",
        "topic",
    )

    def __init__(self, key: FetchKey, asked: FetchRequest.FetchPartition) -> None:
        self.key = key
        self.topic = key.topic  # the name; "" while this broker does not know the topic id
        self.session: FetchSession | None = None
        self.rests_in: Partition | None = None
        self.last_sent_high_watermark = -1
        self.told_log_start_offset = -1
        self.take(asked)

    def take(self, asked: FetchRequest.FetchPartition) -> None:
        """Set the offsets, limits and epochs of the client's latest request."""
        self.fetch_offset = asked.fetch_offset
        self.max_bytes = asked.partition_max_bytes
        self.log_start_offset = asked.log_start_offset
        self.current_leader_epoch = asked.current_leader_epoch
        self.last_fetched_epoch = asked.last_fetched_epoch

    def rest(self, partition: Partition) -> None:
        """Mark it clean, until `partition` marks it dirty."""
        assert self.session is not None
        self.session.noisy.pop(self, None)
        partition.readers[self] = None
        self.rests_in = partition

    def stir(self) -> None:
        """Mark it dirty: the next fetch reads it."""
        if self.rests_in is not None:
            self.rests_in.readers.pop(self, None)
            self.rests_in = None
        if self.session is not None:
            self.session.noisy[self] = None

    def must_answer(self, data: PartitionData) -> bool:
        """Whether an incremental response must contain this partition; remembers the offsets that are sent."""
        if data.error_code:
            self.last_sent_high_watermark = -1  # the next entry without an error is always sent
            return True
        news = bool(data.records) or data.diverging_epoch.epoch >= 0 or data.preferred_read_replica >= 0
        if data.high_watermark != self.last_sent_high_watermark:
            self.last_sent_high_watermark = data.high_watermark
            news = True
        if data.log_start_offset != self.told_log_start_offset:
            self.told_log_start_offset = data.log_start_offset
            news = True
        return news


class FetchSession:
    """A client's fetch session."""

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
        self.parked: WatchList = {}  # a consumer's fetch that waits for its clean partitions

    def take(self, partition: SessionPartition) -> None:
        """Add a partition; it is dirty."""
        self.partitions[partition.key] = partition
        partition.session = self
        self.noisy[partition] = None

    def update(self, request: FetchRequest) -> None:
        """Apply an incremental request: added, changed and forgotten partitions. If a follower has a new broker epoch
        (KIP-903), all partitions become dirty, also those with nothing to read."""
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
        """Mark all partitions dirty, at most every SWEEP_EVERY_MS."""
        if now_ms - self.swept_ms >= SWEEP_EVERY_MS:
            self.swept_ms = now_ms
            for partition in self.partitions.values():
                partition.stir()

    def answered(self, partition: SessionPartition) -> None:
        """The partition returned records: move it to the end."""
        if self.noisy.pop(partition, partition) is None:
            self.noisy[partition] = None

    @property
    def anything_rests(self) -> bool:
        """Whether the session has clean partitions."""
        return len(self.noisy) < len(self.partitions)

    def close(self) -> None:
        """Remove all partitions: the session is over."""
        for partition in self.partitions.values():
            self._forget(partition)
        self.partitions = {}

    def _forget(self, partition: SessionPartition | None) -> None:
        if partition is not None:
            partition.stir()
            partition.session = None
            self.noisy.pop(partition, None)


def stir_readers(readers: dict[SessionPartition, None], purgatory: Purgatory) -> None:
    """Mark a changed partition dirty in all sessions where it is clean. Parked fetches of consumers wake at once, those
    of followers at the next append."""
    for reader in list(readers):
        reader.stir()
        if reader.session is not None and not reader.session.from_replica:
            purgatory.wake(reader.session.parked)


def asked_partitions(request: FetchRequest) -> Iterator[tuple[FetchKey, FetchRequest.FetchPartition]]:
    """All partitions of a request, in its order."""
    for topic in request.topics:
        for asked in topic.partitions:
            yield FetchKey(topic.topic, topic.topic_id, asked.partition), asked


def names_by_id(request: FetchRequest) -> bool | None:
    """Whether the request has topic ids; None if it has no topics."""
    ids = [topic.topic_id for topic in request.topics] or [topic.topic_id for topic in request.forgotten_topics_data]
    return ids[0] != ZERO_UUID if ids else None
