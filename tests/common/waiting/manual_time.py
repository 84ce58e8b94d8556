"""A clock's timers and the end of turns, both advanced by the test."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from signalbox.common.clock import ManualClock


class ManualHandle:
    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualTimers:
    """The `Timers` port over a ManualClock."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self._heap: list[tuple[float, int, ManualHandle, Callable[[], None]]] = []
        self._serial = 0

    def call_later(self, delay: float, callback: Callable[[], None], /) -> ManualHandle:
        handle = ManualHandle()
        self._serial += 1
        heapq.heappush(self._heap, (self.clock.monotonic() + delay, self._serial, handle, callback))
        return handle

    @property
    def armed(self) -> list[float]:
        """The due times of the armed timers."""
        return sorted(at for at, _, handle, _ in self._heap if not handle.cancelled)

    def run_due(self) -> bool:
        """Fires the timers that are due. True if there were any."""
        fired = False
        while self.run_next():
            fired = True
        return fired

    def run_next(self) -> bool:
        """Fires the earliest timer if it is due."""
        while self._heap and self._heap[0][0] <= self.clock.monotonic() + 1e-9:
            _, _, handle, callback = heapq.heappop(self._heap)
            if not handle.cancelled:
                callback()
                return True
        return False


class ManualIterations:
    """The `at_iteration_end` port: `end` ends the iteration."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], None]] = []

    def __call__(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    def end(self) -> bool:
        """Runs all callbacks for the end of the iteration. True if there were any."""
        ran = bool(self._callbacks)
        while self._callbacks:
            callbacks, self._callbacks = self._callbacks, []
            for callback in callbacks:
                callback()
        return ran
