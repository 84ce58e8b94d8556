"""Rate of an event: events per second over the last 30 seconds, counted per second."""

from __future__ import annotations

from collections import deque

from signalbox.common.clock import Clock

WINDOW_S = 30


class EventRate:
    """Uses one small list per second that has events."""

    __slots__ = ("_clock", "_seconds")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seconds: deque[list[int]] = deque()  # [second, events in it]

    def add(self) -> None:
        """Count one event."""
        now = int(self._clock.monotonic())
        if self._seconds and self._seconds[-1][0] == now:
            self._seconds[-1][1] += 1
        else:
            self._forget(now)
            self._seconds.append([now, 1])

    def per_second(self) -> float:
        """Mean over the window, also when the first event is less than one window ago."""
        self._forget(int(self._clock.monotonic()))
        return sum(events for _, events in self._seconds) / WINDOW_S

    def _forget(self, now: int) -> None:
        while self._seconds and self._seconds[0][0] <= now - WINDOW_S:
            self._seconds.popleft()
