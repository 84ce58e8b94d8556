"""Long work gives way where it breathes, and nowhere else; outside of it nothing happens."""

from __future__ import annotations

import time

from signalbox.common.long_work import LongWork, breathe, clear, in_one_breath, is_long


def test_outside_of_long_work_nothing_happens() -> None:
    breathe()
    assert not is_long()
    values = list(range(1000))
    clear(values)
    assert values == []


def test_it_gives_way_after_its_deadline_at_any_depth() -> None:
    told: list[str] = []

    def deep(depth: int) -> None:
        if depth:
            deep(depth - 1)
            return
        for name in "abc":
            told.append(name)
            breathe()

    work = LongWork(lambda: deep(50))
    work.switch()  # its deadline is long over: every breath is the last of a slice
    assert told == ["a"]
    work.switch()
    assert told == ["a", "b"]
    work.deadline = time.monotonic() + 60
    work.switch()
    assert told == ["a", "b", "c"]
    assert work.dead


def test_who_has_had_one_slice_is_not_long_yet() -> None:
    told = []
    work = LongWork(lambda: told.append(is_long()))
    work.slices = 1
    work.switch()
    again = LongWork(lambda: told.append(is_long()))
    again.slices = 2
    again.switch()
    assert told == [False, True]


def test_what_belongs_together_is_done_in_one_breath() -> None:
    done: list[str] = []

    def work() -> None:
        with in_one_breath():
            done.append("a")
            breathe()
            done.append("b")
        breathe()
        done.append("c")

    task = LongWork(work)
    task.switch()
    assert done == ["a", "b"]
    task.switch()
    assert done == ["a", "b", "c"]
    with in_one_breath():
        breathe()
