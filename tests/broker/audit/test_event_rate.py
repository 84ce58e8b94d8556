"""Events per second over half a minute, with a manual clock."""

from __future__ import annotations

import pytest

from signalbox.broker.audit.event_rate import WINDOW_S, EventRate
from signalbox.common.clock import ManualClock


def test_events_count_for_half_a_minute() -> None:
    clock = ManualClock()
    rate = EventRate(clock)
    assert rate.per_second() == 0
    for _ in range(60):
        rate.add()
    assert rate.per_second() == pytest.approx(2)
    clock.advance(WINDOW_S * 500)
    for _ in range(30):
        rate.add()
    assert rate.per_second() == pytest.approx(3)
    clock.advance(WINDOW_S * 500 + 1_000)
    assert rate.per_second() == pytest.approx(1)
    clock.advance(WINDOW_S * 1_000)
    assert rate.per_second() == 0
