"""The follower's side of a fetch session (KIP-227): the state that was sent to the leader, and changes to send.

A request has only the partitions whose state changed since the last one, usually those that returned records. After
any error of the session, a new one is started with a full request.
"""

from __future__ import annotations

from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.replication.fetch.fetch_session import INITIAL_EPOCH, LAST_EPOCH, NO_SESSION
from signalbox.replication.follower.followed_partition import FollowedPartition

PartitionKey = tuple[bytes, int]


class ReplicaSession:
    """The partitions of one fetcher in its session with the leader."""

    def __init__(self, partition_max_bytes: int) -> None:
        self._partition_max_bytes = partition_max_bytes
        self._session_id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        self._partitions: dict[PartitionKey, FollowedPartition] = {}
        self._changed: dict[PartitionKey, FollowedPartition] = {}
        self._forgotten: set[PartitionKey] = set()

    def __len__(self) -> int:
        return len(self._partitions)

    def add(self, followed: FollowedPartition) -> None:
        """Fetch this partition, or fetch it from its new offset on."""
        followed.requested = False
        self._partitions[followed.key] = self._changed[followed.key] = followed

    def drop(self, followed: FollowedPartition) -> None:
        """Do not fetch the partition for now."""
        key = followed.key
        if self._partitions.get(key) is followed:
            del self._partitions[key]
            self._changed.pop(key, None)
            self._forgotten.add(key)

    def get(self, key: PartitionKey) -> FollowedPartition | None:
        return self._partitions.get(key)

    def fill(self, request: FetchRequest) -> None:
        """Put session and partitions into the next request."""
        request.session_id = self._session_id
        request.session_epoch = self._epoch
        partitions = self._partitions if self._epoch == INITIAL_EPOCH else self._changed
        topics: dict[bytes, FetchRequest.FetchTopic] = {}
        for (topic_id, index), followed in partitions.items():
            followed.requested = True
            followed.sent_log_start_offset = followed.log.log_start_offset
            topic = topics.get(topic_id)
            if topic is None:
                topic = topics[topic_id] = FetchRequest.FetchTopic(topic_id=topic_id)
            topic.partitions.append(
                FetchRequest.FetchPartition(
                    partition=index,
                    current_leader_epoch=followed.leader_epoch,
                    fetch_offset=followed.fetch_offset,
                    last_fetched_epoch=followed.last_fetched_epoch,
                    log_start_offset=followed.sent_log_start_offset,
                    partition_max_bytes=self._partition_max_bytes,
                )
            )
        request.topics = list(topics.values())
        if self._epoch != INITIAL_EPOCH:
            request.forgotten_topics_data = self._forgotten_topics()
        self._changed = {}
        self._forgotten = set()

    def on_response(self, session_id: int) -> None:
        """There was a response without a session error."""
        if session_id == NO_SESSION:
            self._restart(NO_SESSION)
            return
        self._session_id = session_id
        self._epoch = 1 if self._epoch == LAST_EPOCH else self._epoch + 1

    def on_session_error(self) -> None:
        """The session does not exist any more, or it is unknown whether the leader applied the last request. A full
        request with the old id also closes the old session if it still exists."""
        self._restart(self._session_id)

    def on_connection_lost(self) -> None:
        """The connection was lost: the next request has no session."""
        self._restart(NO_SESSION)

    def _restart(self, session_id: int) -> None:
        self._session_id = session_id
        self._epoch = INITIAL_EPOCH
        self._changed = dict(self._partitions)
        self._forgotten = set()

    def _forgotten_topics(self) -> list[FetchRequest.ForgottenTopic]:
        topics: dict[bytes, FetchRequest.ForgottenTopic] = {}
        for topic_id, index in self._forgotten:
            if (topic_id, index) in self._partitions:
                continue
            topic = topics.setdefault(topic_id, FetchRequest.ForgottenTopic(topic_id=topic_id))
            topic.partitions.append(index)
        return list(topics.values())
