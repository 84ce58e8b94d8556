"""Deadlines of all waiting operations of replication, with one timer.

A heap of (time, operation); the event loop has a timer for the earliest only. An operation that finished early stays
in the heap as a stale entry until its time. When there are more stale than live entries, the heap is rebuilt.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Protocol

from signalbox.common.clock import Clock

_EARLY_S = 0.0001  # event loops may fire a timer slightly early: expire then, instead of a second timer


class TimerHandle(Protocol):
    def cancel(self) -> None: ...


class Timers(Protocol):
    """Port to the event loop (`asyncio.AbstractEventLoop` implements it): a call after a delay in seconds."""

    def call_later(self, delay: float, callback: Callable[[], None], /) -> TimerHandle: ...


class Deadline:
    """One operation's deadline."""

    __slots__ = ("_owner", "expire")

    def __init__(self, owner: Deadlines, expire: Callable[[], None]) -> None:
        self._owner: Deadlines | None = owner
        self.expire: Callable[[], None] | None = expire

    def cancel(self) -> None:
        """Cancel the deadline. No effect if it has expired."""
        self.expire = None
        owner, self._owner = self._owner, None
        if owner is not None:
            owner.forget()


class Deadlines:
    """All deadlines of one replica manager."""

    _REBUILD_FROM = 64

    def __init__(self, clock: Clock, timers: Timers) -> None:
        self._clock = clock
        self._timers = timers
        self._heap: list[tuple[float, int, Deadline]] = []
        self._serial = 0
        self._stale = 0
        self._timer: TimerHandle | None = None
        self._timer_at = 0.0

    def __len__(self) -> int:
        """Number of live deadlines."""
        return len(self._heap) - self._stale

    def add(self, delay_ms: float, expire: Callable[[], None]) -> Deadline:
        """Call `expire` after `delay_ms`, unless the deadline is cancelled before."""
        deadline = Deadline(self, expire)
        at = self._clock.monotonic() + delay_ms / 1000
        self._serial += 1
        heapq.heappush(self._heap, (at, self._serial, deadline))
        if self._timer is None or at < self._timer_at:
            self._arm()
        return deadline

    def forget(self) -> None:
        """Count one more stale entry of the heap."""
        self._stale += 1
        if self._stale > self._REBUILD_FROM and self._stale * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].expire is not None]
            heapq.heapify(self._heap)
            self._stale = 0

    def close(self) -> None:
        """Remove all deadlines; none expires any more."""
        self._heap.clear()
        self._stale = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._heap:
            self._timer_at = self._heap[0][0]
            self._timer = self._timers.call_later(max(0.0, self._timer_at - self._clock.monotonic()), self._run)

    def _run(self) -> None:
        self._timer = None
        try:
            self._expire_due(self._clock.monotonic() + _EARLY_S)
        finally:  # an exception of one operation must not stop the others
            if self._timer is None:
                self._arm()

    def _expire_due(self, now: float) -> None:
        newest = self._serial  # deadlines that are added meanwhile wait for the next run, even if they are due
        while self._heap and self._heap[0][0] <= now and self._heap[0][1] <= newest:
            deadline = heapq.heappop(self._heap)[2]
            expire, deadline.expire = deadline.expire, None
            if expire is None:
                self._stale -= 1
                continue
            deadline._owner = None
            expire()
