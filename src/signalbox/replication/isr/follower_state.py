"""A leader's state of one follower, from the follower's fetches.

A follower that fetches at offset N has everything below N. `last_caught_up_ms` is the last time at which it had all
records of the leader: a fetch at the leader's log end, or a fetch that reaches what was the leader's log end at the
follower's previous fetch (KIP-16).
"""

from __future__ import annotations

from signalbox.replication.waiting.purgatory import WatchList

UNKNOWN_OFFSET = -1


class FollowerState:
    """One remote replica. Times in ms of the leader's clock."""

    __slots__ = (
        "broker_epoch",
        "broker_id",
        "last_caught_up_ms",
        "last_fetch_leader_end_offset",
        "last_fetch_ms",
        "log_end_offset",
        "log_start_offset",
        "parked",
        "sent_offset",
    )

    def __init__(self, broker_id: int, parked: WatchList) -> None:
        self.broker_id = broker_id
        self.parked = parked  # its fetches that are parked here for appends, of any partition
        self.log_start_offset = UNKNOWN_OFFSET
        self.log_end_offset = UNKNOWN_OFFSET
        self.last_fetch_leader_end_offset = UNKNOWN_OFFSET
        self.last_fetch_ms = 0
        self.last_caught_up_ms = 0
        self.broker_epoch = -1
        self.sent_offset = UNKNOWN_OFFSET  # the fetch offset of the records that were last sent

    def reset(self, now_ms: int, leader_end_offset: int, *, new_leader: bool, in_sync: bool) -> None:
        """At a new leader epoch: members of the ISR get a full lag time to fetch, other replicas must catch up."""
        self.last_caught_up_ms = now_ms if in_sync else 0
        if new_leader:
            self.log_start_offset = UNKNOWN_OFFSET
            self.log_end_offset = UNKNOWN_OFFSET
            self.last_fetch_leader_end_offset = UNKNOWN_OFFSET
            self.last_fetch_ms = 0
            self.broker_epoch = -1
        else:
            self.last_fetch_leader_end_offset = leader_end_offset
            self.last_fetch_ms = self.last_caught_up_ms

    def record_fetch(self, fetch_offset: int, log_start_offset: int, leader_end_offset: int, now_ms: int) -> None:
        """The follower has everything below `fetch_offset`."""
        if fetch_offset >= leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif fetch_offset >= self.last_fetch_leader_end_offset >= 0:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_start_offset = log_start_offset
        self.log_end_offset = fetch_offset
        self.last_fetch_leader_end_offset = leader_end_offset
        self.last_fetch_ms = now_ms

    def caught_up_until(self, last_fetch_ms: int) -> None:
        """The follower had everything up to its fetch at `last_fetch_ms`; since then the leader has more."""
        if last_fetch_ms > self.last_fetch_ms:
            self.last_fetch_ms = last_fetch_ms
            self.last_caught_up_ms = max(self.last_caught_up_ms, last_fetch_ms)

    def is_caught_up(self, leader_end_offset: int, now_ms: int, max_lag_ms: int) -> bool:
        """Whether it may stay in the ISR."""
        return self.log_end_offset == leader_end_offset or now_ms - self.last_caught_up_ms <= max_lag_ms
