"""One timer for all deadlines: order, cancellation, rebuilds."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common.waiting.manual_time import ManualTimers

from signalbox.common.clock import ManualClock
from signalbox.common.waiting.deadlines import Deadline, Deadlines


class Bench:
    def __init__(self, slice_s: float = 0.000_1) -> None:
        self.clock = ManualClock()
        self.timers = ManualTimers(self.clock)
        self.deadlines = Deadlines(self.clock, self.timers, slice_s)
        self.expired: list[str] = []

    def pass_ms(self, ms: int) -> list[str]:
        self.clock.advance(ms)
        self.timers.run_due()
        expired, self.expired = self.expired, []
        return expired


def test_the_earliest_is_the_only_timer() -> None:
    bench = Bench()
    bench.deadlines.add(300, lambda: bench.expired.append("late"))
    bench.deadlines.add(100, lambda: bench.expired.append("early"))
    bench.deadlines.add(100, lambda: bench.expired.append("early too"))
    assert bench.timers.armed == [0.1]
    assert bench.pass_ms(99) == []
    assert bench.pass_ms(1) == ["early", "early too"]
    assert bench.timers.armed == [0.3]
    assert bench.pass_ms(200) == ["late"]
    assert bench.timers.armed == []


def test_a_cancelled_deadline_never_expires() -> None:
    bench = Bench()
    deadline = bench.deadlines.add(100, lambda: bench.expired.append("x"))
    assert len(bench.deadlines) == 1
    deadline.cancel()
    deadline.cancel()
    assert len(bench.deadlines) == 0
    assert bench.pass_ms(200) == []


def test_stale_entries_are_swept_when_they_outnumber_the_others() -> None:
    bench = Bench()
    bench.deadlines.add(1_000, lambda: bench.expired.append("kept"))
    for _ in range(1_000):
        bench.deadlines.add(900, lambda: bench.expired.append("never")).cancel()
    assert len(bench.deadlines) == 1
    assert len(bench.deadlines._heap) < 200
    assert bench.pass_ms(1_000) == ["kept"]


def test_deadlines_added_during_expiry_wait_for_the_next_run() -> None:
    bench = Bench()

    def again() -> None:
        bench.expired.append("tick")
        if len(bench.expired) < 3:
            bench.deadlines.add(0, again)

    bench.deadlines.add(10, again)
    bench.clock.advance(10)
    bench.timers.run_due()
    assert bench.expired == ["tick", "tick", "tick"]


def test_closing_forgets_everything() -> None:
    bench = Bench()
    bench.deadlines.add(10, lambda: bench.expired.append("x"))
    bench.deadlines.close()
    assert (bench.timers.armed, bench.pass_ms(20), len(bench.deadlines)) == ([], [], 0)


def test_one_that_raises_does_not_take_the_others_along(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()

    def broken() -> None:
        raise RuntimeError("a fault of the test")

    bench.deadlines.add(10, broken)
    bench.deadlines.add(10, lambda: bench.expired.append("next"))
    assert bench.pass_ms(10) == ["next"]
    assert "a fault of the test" in caplog.text


def test_a_restart_moves_the_deadline_either_way() -> None:
    bench = Bench()
    deadline = bench.deadlines.add(100, lambda: bench.expired.append("never"))
    deadline.restart(300, lambda: bench.expired.append("never"))
    assert (bench.pass_ms(100), len(bench.deadlines), bench.timers.armed) == ([], 1, [0.3])
    deadline.restart(50, lambda: bench.expired.append("sooner"))
    assert bench.timers.armed == [pytest.approx(0.15)]
    assert len(bench.deadlines) == 1
    assert bench.pass_ms(50) == ["sooner"]
    assert (bench.pass_ms(500), len(bench.deadlines), bench.timers.armed) == ([], 0, [])


def test_a_later_time_costs_no_entry_of_the_heap() -> None:
    bench = Bench()
    session = bench.deadlines.add(100, lambda: bench.expired.append("never"))
    for _ in range(1_000):
        session.restart(100, lambda: bench.expired.append("session"))
        assert bench.pass_ms(1) == []
    assert len(bench.deadlines._heap) == 1
    assert bench.pass_ms(99) == ["session"]


@pytest.mark.parametrize(("slice_s", "expected"), [(0.000_1, [1, 2, 3]), (0.001_5, [2, 3])])
def test_many_deadlines_at_once_are_run_in_slices(slice_s: float, expected: list[int]) -> None:
    bench = Bench(slice_s)

    def slow() -> None:
        bench.expired.append("x")
        bench.clock.advance(1)

    for _ in range(3):
        bench.deadlines.add(10, slow)
    bench.clock.advance(10)
    runs = []
    while bench.timers.armed:
        bench.timers.run_next()
        runs.append(len(bench.expired))
    assert runs == expected


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["restart", "cancel", "pass"]),
            st.integers(min_value=0, max_value=4),
            st.integers(min_value=0, max_value=40),
        )
    )
)
def test_it_agrees_with_a_plain_dictionary(steps: list[tuple[str, int, int]]) -> None:
    bench = Bench()
    deadlines: dict[int, Deadline] = {}
    model: dict[int, int] = {}
    now = 0
    for step, key, amount in steps:
        expire = partial(lambda key: bench.expired.append(key), str(key))
        if step == "restart":
            if key in model:
                deadlines[key].restart(amount, expire)
            else:
                deadlines[key] = bench.deadlines.add(amount, expire)
            model[key] = now + amount
        elif step == "cancel":
            if key in deadlines:
                deadlines[key].cancel()
            model.pop(key, None)
        else:
            now += amount
            due = sorted((at, str(key)) for key, at in model.items() if at <= now)
            assert sorted(bench.pass_ms(amount)) == sorted(key for _, key in due)
            model = {key: at for key, at in model.items() if at > now}
        assert len(bench.deadlines) == len(model)
