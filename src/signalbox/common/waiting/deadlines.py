"""All deadlines of a broker: waiting requests, sessions of group members, retries, periodic work. One timer.

A heap of (time, serial, deadline); the event loop has a timer for the earliest only. A deadline that was cancelled
stays in the heap as a stale entry until its time; when there are more stale than live entries, the heap is rebuilt. A
heartbeat moves a session's deadline every few seconds, so `restart` must be cheap: a later time is only noted, and the
entry goes back into the heap when its old time comes.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable
from typing import Protocol

from signalbox.common.clock import Clock

_EARLY_S = 0.0001  # event loops may fire a timer slightly early: expire then, instead of a second timer

log = logging.getLogger(__name__)


class TimerHandle(Protocol):
    def cancel(self) -> None: ...


class Timers(Protocol):
    """Port to the event loop (`asyncio.AbstractEventLoop` implements it): a call after a delay in seconds."""

    def call_later(self, delay: float, callback: Callable[[], None], /) -> TimerHandle: ...


class Deadline:
    """One operation's deadline."""

    __slots__ = ("_owner", "at", "expire", "heap_at", "serial")

    def __init__(self, owner: Deadlines, at: float, expire: Callable[[], None]) -> None:
        self._owner = owner
        self.at = at
        self.expire: Callable[[], None] | None = expire
        self.heap_at = at  # the time and serial of its entry in the heap
        self.serial = 0

    def cancel(self) -> None:
        """Cancel the deadline. No effect if it has expired."""
        if self.expire is not None:
            self.expire = None
            self._owner.forget()

    def restart(self, delay_ms: float, expire: Callable[[], None]) -> None:
        """Call `expire` after `delay_ms`, instead of what was set before. The deadline must not have expired."""
        self.expire = expire
        self._owner.move(self, delay_ms)


class Deadlines:
    """All deadlines of one broker. An exception of an operation is logged and does not stop the others. `slice_s`: the
    `TaskScheduler`'s; after a pause of the process, thousands may be due at once."""

    _REBUILD_FROM = 64

    def __init__(self, clock: Clock, timers: Timers, slice_s: float = 0.000_1) -> None:
        self.clock = clock
        self._timers = timers
        self._slice_s = slice_s
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
        deadline = Deadline(self, self.clock.monotonic() + delay_ms / 1000, expire)
        self._push(deadline)
        self._arm_for(deadline)
        return deadline

    def move(self, deadline: Deadline, delay_ms: float) -> None:
        """Set the time of a live deadline: `delay_ms` from now."""
        deadline.at = self.clock.monotonic() + delay_ms / 1000
        if deadline.at < deadline.heap_at:
            self._push(deadline)
            self.forget()
            self._arm_for(deadline)

    def forget(self) -> None:
        """Count one more stale entry of the heap."""
        self._stale += 1
        if self._stale > self._REBUILD_FROM and self._stale * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if _is_live(entry)]
            heapq.heapify(self._heap)
            self._stale = 0

    def close(self) -> None:
        """Remove all deadlines; none expires any more."""
        for _, _, deadline in self._heap:
            deadline.expire = None
        self._heap.clear()
        self._stale = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _push(self, deadline: Deadline) -> None:
        self._serial += 1
        deadline.heap_at, deadline.serial = deadline.at, self._serial
        heapq.heappush(self._heap, (deadline.at, self._serial, deadline))

    def _arm_for(self, deadline: Deadline) -> None:
        if self._timer is None or deadline.at < self._timer_at:
            self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._heap:
            self._timer_at = self._heap[0][0]
            self._timer = self._timers.call_later(max(0.0, self._timer_at - self.clock.monotonic()), self._run)

    def _run(self) -> None:
        """Expire what is due, for one slice; if some are left, the next timer is due at once."""
        self._timer = None
        now = self.clock.monotonic()
        newest = self._serial  # deadlines that are added meanwhile wait for the next run, even if they are due
        while self._heap and self._heap[0][0] <= now + _EARLY_S and self._heap[0][1] <= newest:
            entry = heapq.heappop(self._heap)
            if not _is_live(entry):
                self._stale -= 1
                continue
            deadline = entry[2]
            if deadline.at > now + _EARLY_S:
                self._push(deadline)
                continue
            _expire(deadline)
            if self.clock.monotonic() >= now + self._slice_s:
                break
        if self._timer is None:
            self._arm()


def _is_live(entry: tuple[float, int, Deadline]) -> bool:
    _, serial, deadline = entry
    return deadline.expire is not None and deadline.serial == serial


def _expire(deadline: Deadline) -> None:
    expire, deadline.expire = deadline.expire, None
    assert expire is not None
    try:
        expire()
    except Exception:
        log.exception("Unexpected error in a timer")
