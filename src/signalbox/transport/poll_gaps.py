"""How long the control plane may have to wait: processor time between two polls of asyncio, as a histogram.

Only measured when asked for (`data.plane.measure.polls`), since reading the thread's clock is a system call. Processor
time and not wall time, so that other processes on the machine have no say.
"""

from __future__ import annotations

import time
from bisect import bisect_left

from signalbox.common.metrics import MetricName, Metrics

_BOUNDS_US = (*range(25, 1_000, 25), *range(1_000, 5_000, 250), *range(5_000, 20_001, 2_500))
_NAME = MetricName("kafka.network", "SocketServer", "PollGapCpuUs")


class PollGaps:
    """Counts of gaps by their upper bounds in microseconds."""

    def __init__(self) -> None:
        self.bounds_us = _BOUNDS_US
        self.counts = [0] * (len(_BOUNDS_US) + 1)
        self._last_ns = time.thread_time_ns()

    def note(self) -> None:
        """A poll has happened just now."""
        now_ns = time.thread_time_ns()
        self.counts[bisect_left(_BOUNDS_US, (now_ns - self._last_ns) / 1_000)] += 1
        self._last_ns = now_ns

    def register(self, metrics: Metrics) -> None:
        """Gauges as Prometheus has histograms: gaps of at most `le` microseconds."""
        for slot, bound in enumerate((*map(str, self.bounds_us), "+Inf")):
            metrics.gauge(_NAME, lambda upto=slot + 1: float(sum(self.counts[:upto])), {"le": bound})  # type: ignore[misc]
