from __future__ import annotations

from collections.abc import Callable

from signalbox.common.clock import ManualClock
from signalbox.storage.directories.move_throttle import UNLIMITED, MoveThrottle


class Throttled:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.waits: list[float] = []
        self.throttle = MoveThrottle(self.clock.monotonic, self._call_later)

    def _call_later(self, delay_ms: float, resume: Callable[[], None]) -> None:
        self.waits.append(delay_ms)

    def delays(self) -> bool:
        return self.throttle.delays(lambda: None)


def test_without_a_rate_nothing_waits() -> None:
    made = Throttled()
    made.throttle.record(1 << 40)
    made.throttle.set_rate(UNLIMITED, 10)
    made.throttle.record(1 << 40)
    assert (made.delays(), made.waits) == (False, [])


def test_what_is_above_the_burst_is_paid_at_the_rate() -> None:
    made = Throttled()
    made.throttle.set_rate(1_000, 1)
    made.throttle.record(1_000)
    assert not made.delays()
    made.throttle.record(250)
    assert made.delays()
    made.throttle.record(1_000_000)
    assert made.delays()
    assert made.waits == [250.0, 500.0], "the rate may be raised meanwhile"
    made.clock.advance(1_000_250)
    assert not made.delays()


def test_a_rate_changes_while_moves_wait() -> None:
    made = Throttled()
    made.throttle.set_rate(1_000, 1)
    made.throttle.record(2_000)
    made.throttle.set_rate(100_000, 1)
    assert made.delays()
    assert made.waits == [10.0]
    made.throttle.set_rate(UNLIMITED, 1)
    assert not made.delays()
    made.throttle.set_rate(0, 1)
    made.throttle.record(1)
    assert made.delays(), "a rate of 0 stops all moves"
