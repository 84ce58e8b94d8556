"""Who waits for something to happen to a partition, and who is told when it does.

Produce requests with acks=all wait for the high watermark; consumers' fetches and deletions of records for what is
committed; followers' fetches for appends. Fetch sessions rest here while there is nothing to tell them.
"""

from __future__ import annotations

from collections import deque

from signalbox.protocol.error_table import Error
from signalbox.replication.append_ticket import AppendTicket
from signalbox.replication.fetch_session import SessionPartition, stir_readers
from signalbox.replication.follower_state import FollowerState
from signalbox.replication.purgatory import Purgatory, WatchList


class Audience:
    """The waiting side of a `Partition`."""

    def __init__(self, purgatory: Purgatory) -> None:
        self.purgatory = purgatory
        self.followers: dict[int, FollowerState] = {}
        self.waiting_appends: deque[AppendTicket] = deque()
        self.commit_watchers: WatchList = {}
        self.readers: dict[SessionPartition, None] = {}

    def fail_waiting(self, error: Error) -> None:
        """Appends that wait for replicas end with `error`."""
        waiting, self.waiting_appends = self.waiting_appends, deque()
        for ticket in waiting:
            ticket.fail(error)

    def wake_all(self) -> None:
        """Leadership, epoch or existence changed: every parked request looks again."""
        self.wake_followers()
        self.tell_committed()

    def tell_committed(self) -> None:
        """The high watermark or the log start has moved."""
        self._stir_readers()
        self.purgatory.wake(self.commit_watchers)

    def wake_followers(self) -> None:
        """There is more to fetch for replicas."""
        self._stir_readers()
        for follower in self.followers.values():
            self.purgatory.wake(follower.parked)

    def _stir_readers(self) -> None:
        if not self.readers:
            return
        for reader in self.readers:
            session = reader.session
            if session is not None and (follower := self.followers.get(session.replica_id)) is not None:
                follower.rested_until(session.last_used_ms)
        stir_readers(self.readers, self.purgatory)
