"""All fetch sessions of a broker, and evictions when all slots are taken (KIP-227).

A new session evicts one that was not used for two minutes. Otherwise it evicts the lowest-ranked of those that are at
least two minutes old, if the new one ranks above it: clients' sessions rank below followers', small ones below large
ones. If there is none, the client is served without a session.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Iterable

from signalbox.common.clock import Clock
from signalbox.common.ids import ZERO_UUID
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.replication.fetch.fetch_session import (
    LAST_EPOCH,
    NO_SESSION,
    FetchKey,
    FetchSession,
    SessionPartition,
    request_uses_topic_ids,
)

EVICT_AFTER_MS = 120_000


class SessionCache:
    """The sessions of one broker."""

    def __init__(self, slots: int, clock: Clock, rng: random.Random) -> None:
        self._slots = slots
        self._clock = clock
        self._rng = rng
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()  # the least recently used first
        self._no_victim_until_ms = 0  # no lower-ranked session can be evicted before this time
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        return sum(len(session.partitions) for session in self._sessions.values())

    def close(self, session_id: int) -> None:
        """Close a session that the client has ended or replaced. Unknown ids are ignored."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.close()

    def resume(self, request: FetchRequest) -> FetchSession:
        """The session of an incremental request, updated by it and moved to the next epoch.
        FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR."""
        session = self._sessions.get(request.session_id)
        if session is None:
            raise KafkaError(Error.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise KafkaError(Error.INVALID_FETCH_SESSION_EPOCH)
        by_id = request_uses_topic_ids(request)
        if by_id is not None and by_id != session.uses_topic_ids and session.partitions:
            raise KafkaError(Error.FETCH_SESSION_TOPIC_ID_ERROR)
        session.update(request)
        self.advance(session)
        session.sweep(session.last_used_ms)
        if not session.partitions:
            self.close(session.session_id)
        return session

    def find(self, session_id: int, epoch: int) -> FetchSession | None:
        """The session of a client, if `epoch` is its next one and no sweep is due; nothing changes."""
        session = self._sessions.get(session_id)
        if session is None or session.epoch != epoch or session.from_replica:
            return None
        return None if session.sweep_is_due(self._clock.now_ms()) else session

    def advance(self, session: FetchSession) -> None:
        """A request of the session is accepted: move it to the next epoch; it is the most recently used one."""
        session.epoch = 1 if session.epoch == LAST_EPOCH else session.epoch + 1
        session.last_used_ms = self._clock.now_ms()
        self._sessions.move_to_end(session.session_id)

    def mark_unsent(self, response: FetchResponse) -> None:
        """The response was not sent: the session's next fetch returns its partitions again."""
        session = self._sessions.get(response.session_id)
        if session is None:
            return
        for topic in response.responses:
            for data in topic.partitions:
                partition = session.partitions.get(FetchKey(topic.topic, topic.topic_id, data.partition_index))
                if partition is not None:
                    partition.last_sent_high_watermark = -1
                    partition.mark_dirty()

    def create(self, partitions: Iterable[SessionPartition], replica_id: int) -> int:
        """Create a session for `partitions`. Returns its id, or 0 if there is no slot for it."""
        by_key = {partition.key: partition for partition in partitions}
        by_id = any(key.topic_id != ZERO_UUID for key in by_key)
        if not by_key or not self._ensure_slot(replica_id >= 0, len(by_key)):
            return NO_SESSION
        session_id = self._rng.randrange(1, 2**31)
        while session_id in self._sessions:
            session_id = self._rng.randrange(1, 2**31)
        session = FetchSession(session_id, replica_id, by_id, self._clock.now_ms())
        for partition in by_key.values():
            session.add(partition)
        self._sessions[session_id] = session
        return session_id

    def _ensure_slot(self, from_replica: bool, size: int) -> bool:
        if len(self._sessions) < self._slots:
            return True
        if not self._slots:
            return False
        now_ms = self._clock.now_ms()
        oldest = next(iter(self._sessions.values()))
        victim = (
            oldest if now_ms - oldest.last_used_ms > EVICT_AFTER_MS else self._lowest_ranked(from_replica, size, now_ms)
        )
        if victim is None:
            return False
        self.close(victim.session_id)
        self.evictions += 1
        return True

    def _lowest_ranked(self, from_replica: bool, size: int, now_ms: int) -> FetchSession | None:
        """The lowest-ranked session of at least two minutes, if the new one ranks above it."""
        if now_ms < self._no_victim_until_ms:
            return None
        lowest = min(
            (session for session in self._sessions.values() if now_ms - session.created_ms > EVICT_AFTER_MS),
            key=lambda session: (session.from_replica, len(session.partitions)),
            default=None,
        )
        if lowest is not None and (lowest.from_replica, len(lowest.partitions)) < (from_replica, size):
            return lowest
        self._no_victim_until_ms = now_ms + 1_000  # one pass over all sessions per second is enough
        return None
