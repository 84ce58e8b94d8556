from __future__ import annotations

import pytest
from tests.coordinator.test_slices import HandLoop

from signalbox.common.clock import ManualClock
from signalbox.coordinator.deadlines import Deadlines
from signalbox.coordinator.slices import SLICE_SECONDS


class Desk:
    def __init__(self) -> None:
        self.loop = HandLoop()
        self.clock = ManualClock()
        self.deadlines = Deadlines(self.clock, lambda: self.loop)
        self.fired: list[str] = []

    def call_in(self, delay_ms: int, name: str) -> None:
        self.deadlines.call_in(delay_ms, name, lambda: self.fired.append(name))

    def pass_time(self, ms: int) -> None:
        self.clock.advance(ms)
        self.loop.seconds += ms / 1000

    def ring(self) -> None:
        self.loop.alarms[-1].callback()


def test_one_alarm_for_the_earliest_deadline() -> None:
    desk = Desk()
    desk.call_in(50, "b")
    desk.call_in(10, "a")
    desk.call_in(90, "c")
    assert [(alarm.when(), alarm.cancelled) for alarm in desk.loop.alarms] == [(0.05, True), (0.01, False)]
    desk.pass_time(60)
    desk.ring()
    assert desk.fired == ["a", "b"]
    assert desk.loop.alarms[-1].when() == pytest.approx(0.09)


def test_an_alarm_that_fires_too_early_is_set_again() -> None:
    desk = Desk()
    desk.call_in(10, "a")
    desk.call_in(30, "a")
    desk.pass_time(10)
    desk.ring()
    assert desk.fired == []
    assert desk.loop.alarms[-1].when() == pytest.approx(0.03)


def test_a_crowd_of_deadlines_is_run_in_slices() -> None:
    desk = Desk()

    def busy() -> None:
        desk.fired.append("x")
        desk.loop.seconds += SLICE_SECONDS

    for number in range(3):
        desk.deadlines.call_in(10, number, busy)
    desk.pass_time(10)
    desk.ring()
    assert desk.fired == ["x"]
    desk.ring()
    desk.ring()
    assert desk.fired == ["x"] * 3
    assert desk.loop.alarms[-1].when() <= desk.loop.seconds


def test_cancelled_and_stopped() -> None:
    desk = Desk()
    desk.call_in(10, "a")
    desk.deadlines.cancel_call("a")
    desk.pass_time(10)
    desk.deadlines.fire_due()
    assert desk.fired == []
    desk.call_in(10, "b")
    desk.deadlines.stop()
    assert desk.loop.alarms[-1].cancelled
