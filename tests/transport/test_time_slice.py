"""Short slices where the kernel grants them, and the end of a slice when it is due."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from signalbox.transport.time_slice import TimeSlice, has_short_slices, request_short_slices

pytestmark = pytest.mark.spec("C5")


class Clock:
    def __init__(self) -> None:
        self.now = 1.0

    def __call__(self) -> float:
        return self.now


def test_a_slice_ends_after_half_a_millisecond() -> None:
    clock, ended = Clock(), []
    time_slice = TimeSlice(lambda: ended.append(clock.now), clock)
    for microseconds in range(0, 2_000, 100):
        clock.now = 1.0 + microseconds / 1_000_000
        time_slice.end_if_due()
    assert [round((at - 1.0) * 1e6) for at in ended] == [0, 500, 1_000, 1_500]


def test_the_time_of_others_does_not_count() -> None:
    clock = Clock()
    ended = []

    def others_run() -> None:
        ended.append(clock.now)
        clock.now += 0.010

    time_slice = TimeSlice(others_run, clock)
    time_slice.end_if_due()
    time_slice.end_if_due()
    assert ended == [1.0]


def test_short_slices_are_of_this_thread_and_of_those_that_it_starts() -> None:
    def granted() -> tuple[bool, bool, bool]:
        of_child: list[bool] = []
        asked = request_short_slices()
        child = threading.Thread(target=lambda: of_child.append(has_short_slices()))
        child.start()
        child.join()
        return asked, has_short_slices(), of_child[0]

    with ThreadPoolExecutor(1) as thread:
        assert len(set(thread.submit(granted).result())) == 1  # False where the kernel is older than 6.12


def test_policy_and_niceness_stay() -> None:
    def scheduling() -> tuple[int, int]:
        return os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    def asked() -> tuple[tuple[int, int], tuple[int, int]]:
        before = scheduling()
        request_short_slices()
        return before, scheduling()

    with ThreadPoolExecutor(1) as thread:
        before, after = thread.submit(asked).result()
    assert before == after


def test_another_policy_stays() -> None:
    def asked() -> tuple[bool, int]:
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        return request_short_slices(), os.sched_getscheduler(0)

    with ThreadPoolExecutor(1) as thread:
        assert thread.submit(asked).result() == (False, os.SCHED_BATCH)
