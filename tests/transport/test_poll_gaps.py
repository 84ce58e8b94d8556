from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable

import pytest

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.transport.poll_gaps import MeasuredLoop, PollGaps
from tests.metric_values import metric_values
from tests.transport.loopback import spin


@pytest.mark.spec("C5")
@pytest.mark.parametrize("held", [spin, time.sleep])
def test_work_and_sleep_both_count(held: Callable[[float], None]) -> None:
    gaps, registry = PollGaps(), MetricRegistry()
    gaps.register(registry)
    gaps.end()
    gaps.begin()
    held(0.006)
    gaps.end()
    found = metric_values(registry)
    assert (found["PollGapUs", "+Inf"], found["PollGapUs", "5000"]) == (2, 1)
    assert found["PollGapLongestUs",] >= 5_990
    assert metric_values(registry)["PollGapLongestUs",] == 0, "the longest since the last scrape"
    gaps.close()


def test_time_inside_a_poll_is_not_counted() -> None:
    gaps = PollGaps()
    gaps.end()
    spin(0.01)  # the poll itself: no request waits for it
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
            spin(0.003)

        loop.run_until_complete(blocks())
        assert sum(loop.poll_gaps.counts) >= 10
        assert loop.poll_gaps.longest_us >= 2_900
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    assert len(os.listdir("/proc/self/fd")) == before
