"""The waiters of a partition: requests and fetch sessions that wait for an event of it.

Produce requests with acks=all wait for the high watermark; consumers' fetches and DeleteRecords for the high watermark
or the log start; followers' fetches for appends. `clean_sessions`: fetch sessions in which the partition is clean.
"""

from __future__ import annotations

from collections import deque

from signalbox.protocol.error_table import Error
from signalbox.replication.fetch.fetch_session import SessionPartition, mark_sessions_dirty
from signalbox.replication.isr.follower_state import FollowerState
from signalbox.replication.produce.pending_append import PendingAppend
from signalbox.replication.waiting.purgatory import Purgatory, WatchList


class PartitionWaiters:
    """Base class of `Partition`: its waiters."""

    def __init__(self, purgatory: Purgatory) -> None:
        self.purgatory = purgatory
        self.followers: dict[int, FollowerState] = {}
        self.waiting_appends: deque[PendingAppend] = deque()
        self.commit_watchers: WatchList = {}
        self.clean_sessions: dict[SessionPartition, None] = {}

    def fail_waiting(self, error: Error) -> None:
        """Finish appends that wait for replicas with `error`."""
        waiting, self.waiting_appends = self.waiting_appends, deque()
        for pending in waiting:
            pending.fail(error)

    def wake_all(self) -> None:
        """Leadership or epoch has changed, or the replica was stopped: wake all parked requests."""
        self.wake_followers()
        self.wake_commit_watchers()

    def wake_commit_watchers(self) -> None:
        """The high watermark or the log start has moved."""
        self._mark_sessions_dirty()
        self.purgatory.wake(self.commit_watchers)

    def wake_followers(self) -> None:
        """There is more to fetch for followers."""
        self._mark_sessions_dirty()
        for follower in self.followers.values():
            self.purgatory.wake(follower.parked)

    def _mark_sessions_dirty(self) -> None:
        if not self.clean_sessions:
            return
        for session_partition in self.clean_sessions:
            session = session_partition.session
            if session is not None and (follower := self.followers.get(session.replica_id)) is not None:
                follower.caught_up_until(session.last_used_ms)
        mark_sessions_dirty(self.clean_sessions, self.purgatory)
