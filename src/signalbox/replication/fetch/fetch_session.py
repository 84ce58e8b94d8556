"""Incremental fetch sessions (KIP-227): the broker keeps a client's partitions; each message has only changes.

A session keeps the partitions in the order in which they are read; a partition that returned records moves to the end,
so that a busy partition does not starve the others. The epoch counts the requests of a session; a request with another
epoch is rejected, and the client starts a new session. An incremental response contains a partition only if it has
records, an error, a diverging epoch, or another high watermark or log start offset than was last sent.

A fetch reads only the `dirty_partitions`, however many the session has. A partition that was read and has no changes
becomes clean (`mark_clean`): it is in the `clean_sessions` of its `Partition`, which marks it dirty again
(`mark_dirty`) at the next change. Changes without a notification (retention moves a log's start, an ACL is removed) are
found because all partitions are marked dirty every few seconds (`sweep`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from signalbox.common.ids import ZERO_UUID
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.replication.waiting.purgatory import Purgatory, WatchList

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
        "clean_in",
        "current_leader_epoch",
        "fetch_offset",
        "key",
        "last_fetched_epoch",
        "last_sent_high_watermark",
        "last_sent_log_start_offset",
        "log_start_offset",
        "max_bytes",
        "session",
        "topic",
    )

    def __init__(self, key: FetchKey, fetch_partition: FetchRequest.FetchPartition) -> None:
        self.key = key
        self.topic = key.topic  # the name; "" while this broker does not know the topic id
        self.session: FetchSession | None = None
        self.clean_in: Partition | None = None
        self.last_sent_high_watermark = -1
        self.last_sent_log_start_offset = -1
        self.update(fetch_partition)

    def update(self, fetch_partition: FetchRequest.FetchPartition) -> None:
        """Set the offsets, limits and epochs of the client's latest request."""
        self.fetch_offset = fetch_partition.fetch_offset
        self.max_bytes = fetch_partition.partition_max_bytes
        self.log_start_offset = fetch_partition.log_start_offset
        self.current_leader_epoch = fetch_partition.current_leader_epoch
        self.last_fetched_epoch = fetch_partition.last_fetched_epoch

    def mark_clean(self, partition: Partition) -> None:
        """Mark it clean, until `partition` marks it dirty."""
        assert self.session is not None
        self.session.dirty_partitions.pop(self, None)
        partition.clean_sessions[self] = None
        self.clean_in = partition

    def mark_dirty(self) -> None:
        """Mark it dirty: the next fetch reads it."""
        if self.clean_in is not None:
            self.clean_in.clean_sessions.pop(self, None)
            self.clean_in = None
        if self.session is not None:
            self.session.dirty_partitions[self] = None

    def must_include(self, data: PartitionData) -> bool:
        """Whether an incremental response must contain this partition; remembers the offsets that are sent."""
        if data.error_code:
            self.last_sent_high_watermark = -1  # the next entry without an error is always sent
            return True
        changed = bool(data.records) or data.diverging_epoch.epoch >= 0 or data.preferred_read_replica >= 0
        if data.high_watermark != self.last_sent_high_watermark:
            self.last_sent_high_watermark = data.high_watermark
            changed = True
        if data.log_start_offset != self.last_sent_log_start_offset:
            self.last_sent_log_start_offset = data.log_start_offset
            changed = True
        return changed


Entry = tuple[SessionPartition, PartitionData]


class FetchSession:
    """A client's fetch session."""

    __slots__ = (
        "created_ms", "dirty_partitions", "epoch", "from_replica", "last_used_ms", "parked", "partitions",
        "replica_epoch", "replica_id", "session_id", "swept_ms", "uses_topic_ids",
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
        self.dirty_partitions: dict[SessionPartition, None] = {}
        self.parked: WatchList = {}  # a consumer's fetch that waits for its clean partitions

    def add(self, partition: SessionPartition) -> None:
        """Add a partition; it is dirty."""
        self.partitions[partition.key] = partition
        partition.session = self
        self.dirty_partitions[partition] = None

    def update(self, request: FetchRequest) -> None:
        """Apply an incremental request: added, changed and forgotten partitions. If a follower has a new broker epoch
        (KIP-903), all partitions become dirty, also those with nothing to read."""
        if request.replica_state.replica_epoch != self.replica_epoch:
            self.replica_epoch = request.replica_state.replica_epoch
            for partition in self.partitions.values():
                partition.mark_dirty()
        for key, fetch_partition in requested_partitions(request):
            session_partition = self.partitions.get(key)
            if session_partition is None:
                self.add(SessionPartition(key, fetch_partition))
            else:
                session_partition.update(fetch_partition)
                session_partition.mark_dirty()
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                self._forget(self.partitions.pop(FetchKey(topic.topic, topic.topic_id, index), None))

    def sweep_is_due(self, now_ms: int) -> bool:
        return now_ms - self.swept_ms >= SWEEP_EVERY_MS

    def sweep(self, now_ms: int) -> None:
        """Mark all partitions dirty, at most every SWEEP_EVERY_MS."""
        if self.sweep_is_due(now_ms):
            self.swept_ms = now_ms
            for partition in self.partitions.values():
                partition.mark_dirty()

    def move_to_end(self, partition: SessionPartition) -> None:
        """The partition returned records: move it to the end."""
        if self.dirty_partitions.pop(partition, partition) is None:
            self.dirty_partitions[partition] = None

    def entries_to_send(self, entries: list[Entry]) -> list[Entry]:
        """The entries of an incremental response; partitions with records move to the end."""
        entries = [entry for entry in entries if entry[0].must_include(entry[1])]
        for session_partition, data in entries:
            if data.records:
                self.move_to_end(session_partition)
        return entries

    @property
    def has_clean_partitions(self) -> bool:
        """Whether the session has clean partitions."""
        return len(self.dirty_partitions) < len(self.partitions)

    def close(self) -> None:
        """Remove all partitions: the session is over."""
        for partition in self.partitions.values():
            self._forget(partition)
        self.partitions = {}

    def _forget(self, partition: SessionPartition | None) -> None:
        if partition is not None:
            partition.mark_dirty()
            partition.session = None
            self.dirty_partitions.pop(partition, None)


def mark_sessions_dirty(clean_sessions: dict[SessionPartition, None], purgatory: Purgatory) -> None:
    """Mark a changed partition dirty in all sessions where it is clean. Parked fetches of consumers wake at once, those
    of followers at the next append."""
    for session_partition in list(clean_sessions):
        session_partition.mark_dirty()
        session = session_partition.session
        if session is not None and not session.from_replica:
            purgatory.wake(session.parked)


def requested_partitions(request: FetchRequest) -> Iterator[tuple[FetchKey, FetchRequest.FetchPartition]]:
    """All partitions of a request, in its order."""
    for topic in request.topics:
        for fetch_partition in topic.partitions:
            yield FetchKey(topic.topic, topic.topic_id, fetch_partition.partition), fetch_partition


def request_uses_topic_ids(request: FetchRequest) -> bool | None:
    """Whether the request has topic ids; None if it has no topics."""
    ids = [topic.topic_id for topic in request.topics] or [topic.topic_id for topic in request.forgotten_topics_data]
    return ids[0] != ZERO_UUID if ids else None
