from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.transport.poll_gaps import PollGaps
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
