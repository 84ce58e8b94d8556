"""A cooperative task yields only where the code says so; outside of a cooperative task nothing happens."""

from __future__ import annotations

import time

from signalbox.common.cooperative_task import CooperativeTask, clear, is_long, no_yield, yield_if_due


def test_outside_of_a_cooperative_task_nothing_happens() -> None:
    yield_if_due()
    assert not is_long()
    values = list(range(1000))
    clear(values)
    assert values == []


def test_a_task_yields_after_its_deadline_at_any_depth() -> None:
    steps: list[str] = []

    def deep(depth: int) -> None:
        if depth:
            deep(depth - 1)
            return
        for name in "abc":
            steps.append(name)
            yield_if_due()

    work = CooperativeTask(lambda: deep(50))
    work.switch()  # the deadline has passed: every yield ends a slice
    assert steps == ["a"]
    work.switch()
    assert steps == ["a", "b"]
    work.deadline = time.monotonic() + 60
    work.switch()
    assert steps == ["a", "b", "c"]
    assert work.dead


def test_a_task_in_its_first_slice_is_not_long_yet() -> None:
    long = []
    work = CooperativeTask(lambda: long.append(is_long()))
    work.slices = 1
    work.switch()
    again = CooperativeTask(lambda: long.append(is_long()))
    again.slices = 2
    again.switch()
    assert long == [False, True]


def test_no_yield_postpones_the_yield_until_its_end() -> None:
    done: list[str] = []

    def work() -> None:
        with no_yield():
            done.append("a")
            yield_if_due()
            done.append("b")
        yield_if_due()
        done.append("c")

    task = CooperativeTask(work)
    task.switch()
    assert done == ["a", "b"]
    task.switch()
    assert done == ["a", "b", "c"]
    with no_yield():
        yield_if_due()
