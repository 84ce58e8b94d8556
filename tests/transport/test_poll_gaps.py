from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping

import pytest

from signalbox.common.metrics import MetricName, NullMetrics
from signalbox.transport.poll_gaps import MeasuredLoop, PollGaps


class Gauges(NullMetrics):
    def __init__(self) -> None:
        self.read: dict[str, Callable[[], float]] = {}

    def gauge(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        self.read[(tags or {}).get("le", name.name)] = read


def spin(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


@pytest.mark.spec("C5")
@pytest.mark.parametrize("held", [spin, time.sleep])
def test_work_and_sleep_both_count(held: Callable[[float], None]) -> None:
    gaps, gauges = PollGaps(), Gauges()
    gaps.register(gauges)
    gaps.end()
    gaps.begin()
    held(0.006)
    gaps.end()
    assert gauges.read["+Inf"]() == 2
    assert gauges.read["5000"]() == 1
    assert gauges.read["PollGapLongestUs"]() >= 5_990
    assert gauges.read["PollGapLongestUs"]() == 0, "the longest since somebody asked last"
    gaps.close()


def test_what_comes_between_two_polls_is_not_counted() -> None:
    gaps = PollGaps()
    gaps.end()
    time.sleep(0.01)  # the poll itself: nobody waits for it
    gaps.begin()
    gaps.end()
    assert gaps.longest_us < 5_000
    gaps.close()


def test_a_measured_loop_notes_every_poll_and_gives_its_descriptor_back() -> None:
    before = len(os.listdir("/proc/self/fd"))
    loop = MeasuredLoop()
    asyncio.set_event_loop(loop)
    try:

        async def blocks() -> None:
            for _ in range(10):
                await asyncio.sleep(0)
            time.sleep(0.003)  # noqa: ASYNC251

        loop.run_until_complete(blocks())
        assert sum(loop.poll_gaps.counts) >= 10
        assert loop.poll_gaps.longest_us >= 2_900
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    assert len(os.listdir("/proc/self/fd")) == before
