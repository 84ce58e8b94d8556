"""How often something happens: events a second over the last half minute, counted by the second."""

from __future__ import annotations

from collections import deque

from signalbox.common.clock import Clock

WINDOW_S = 30


class EventRate:
    """Costs one small list a second in which something happened."""

    __slots__ = ("_clock", "_seconds")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seconds: deque[list[int]] = deque()  # [second, events in it]

    def add(self) -> None:
        """It happened."""
        now = int(self._clock.monotonic())
        if self._seconds and self._seconds[-1][0] == now:
            self._seconds[-1][1] += 1
        else:
            self._forget(now)
            self._seconds.append([now, 1])

    def per_second(self) -> float:
        """Mean over the window; what began less than a window ago is spread over all of it."""
        self._forget(int(self._clock.monotonic()))
        return sum(events for _, events in self._seconds) / WINDOW_S

    def _forget(self, now: int) -> None:
        while self._seconds and self._seconds[0][0] <= now - WINDOW_S:
            self._seconds.popleft()
