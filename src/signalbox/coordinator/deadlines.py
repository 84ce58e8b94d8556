"""Deadlines on an event loop: one alarm, for the earliest of them, however many there are."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable

from signalbox.common.clock import Clock
from signalbox.coordinator.loop_port import Alarm, GetLoop
from signalbox.coordinator.slices import SLICE_SECONDS
from signalbox.coordinator.timer_queue import TimerQueue

logger = logging.getLogger(__name__)


class Deadlines:
    """Runs due actions in slices: after a pause of the process, all of them may be due at once."""

    def __init__(self, clock: Clock, get_loop: GetLoop) -> None:
        self._clock = clock
        self._get_loop = get_loop
        self._timers: TimerQueue[Callable[[], None]] = TimerQueue()
        self._alarm: Alarm | None = None

    def call_in(self, delay_ms: float, key: Hashable, action: Callable[[], None]) -> None:
        """Call `action` once, in `delay_ms`. Another call with the same key replaces the deadline."""
        self._timers.schedule(key, self._now_ms() + delay_ms, action)
        self._set_alarm()

    def cancel_call(self, key: Hashable) -> None:
        self._timers.cancel(key)

    def fire_due(self) -> None:
        """Run all due actions now, without waiting for the event loop: for a clock that a test sets."""
        for action in self._timers.take_due(self._now_ms()):
            _run(action)
        self._set_alarm()

    def stop(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _ring(self) -> None:
        """Run due actions for one slice; if some are left, the next alarm is due at once."""
        self._alarm = None
        loop = self._get_loop()
        until = loop.time() + SLICE_SECONDS
        for action in self._timers.take_due(self._now_ms()):
            _run(action)
            if loop.time() >= until:
                break
        self._set_alarm()

    def _now_ms(self) -> float:
        return self._clock.monotonic() * 1000

    def _set_alarm(self) -> None:
        """An alarm that is too early is kept: it finds nothing due and sets the next alarm."""
        check_ms = self._timers.next_check_ms()
        if check_ms is None:
            return
        loop = self._get_loop()
        at = loop.time() + max(check_ms - self._now_ms(), 0) / 1000
        if self._alarm is not None:
            if self._alarm.when() <= at:
                return
            self._alarm.cancel()
        self._alarm = loop.call_at(at, self._ring)


def _run(action: Callable[[], None]) -> None:
    try:
        action()
    except Exception:
        logger.exception("Unexpected error in a timer of the group coordinator")
