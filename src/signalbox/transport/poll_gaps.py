"""How long the control plane may have to wait: the time between two polls of its sockets, as a histogram.

A gap is the time of the thread from the end of one poll to the begin of the next, by asyncio or by the data loop:
running, and also sleeping (a write that waits for the disk, a cold page, a lock, another thread that holds the
interpreter). Other processes do not count: the time for which the thread was ready but had no processor is subtracted
(`schedstat`). If the thread never slept, its processor time is used, since no counter shows the time that a hypervisor
or an interrupt takes from a guest.

Measured only with `signalbox.data.plane.measure.polls`: it costs four system calls per poll.
"""

from __future__ import annotations

import os
import resource
import threading
import time
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from signalbox.common.metrics import MetricName, Metrics

_BOUNDS_US = (
    *range(25, 1_000, 25), *range(1_000, 5_000, 250), *range(5_000, 20_001, 2_500), 50_000, 100_000, 500_000, 2_000_000,
)  # fmt: skip
_NAME = MetricName("signalbox.transport", "EventLoop", "PollGapUs")
_LONGEST = MetricName("signalbox.transport", "EventLoop", "PollGapLongestUs")


class PollGaps:
    """Counts of gaps by their upper bounds in microseconds. Belongs to the thread that creates it."""

    def __init__(self) -> None:
        self.bounds_us = _BOUNDS_US
        self.counts = [0] * (len(_BOUNDS_US) + 1)
        self.longest_us = 0.0
        self._schedstat = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY)
        self.begin()

    def begin(self) -> None:
        """A poll has returned."""
        self._slept = self._sleeps()
        self._cpu_ns = time.thread_time_ns()
        self._wall_ns, self._delayed_ns = self._wall_and_delay()

    def end(self) -> None:
        """The next poll is about to begin."""
        gap_ns = time.thread_time_ns() - self._cpu_ns
        if self._sleeps() != self._slept:
            wall_ns, delayed_ns = self._wall_and_delay()
            gap_ns = max(gap_ns, wall_ns - self._wall_ns - (delayed_ns - self._delayed_ns))
        gap_us = gap_ns / 1_000
        self.counts[bisect_left(_BOUNDS_US, gap_us)] += 1
        self.longest_us = max(self.longest_us, gap_us)

    def register(self, metrics: Metrics) -> None:
        """Counted like Prometheus histograms: gaps of at most `le` microseconds."""
        metrics.counters(_NAME, self._rows)
        metrics.gauge(_LONGEST, self._longest)

    def close(self) -> None:
        os.close(self._schedstat)

    def _rows(self) -> Iterator[tuple[dict[str, str], float]]:
        bounds = (*map(str, self.bounds_us), "+Inf")
        for bound, count in zip(bounds, accumulate(self.counts), strict=True):
            yield {"le": bound}, count

    def _longest(self) -> float:
        """The longest gap since the last call."""
        longest, self.longest_us = self.longest_us, 0.0
        return longest

    def _sleeps(self) -> int:
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw

    def _wall_and_delay(self) -> tuple[int, int]:
        """Both of one instant: a delay that began between the two readings would count in one of them only."""
        delayed_ns = self._delay_ns()
        while True:
            wall_ns = time.monotonic_ns()
            again_ns = self._delay_ns()
            if again_ns == delayed_ns:
                return wall_ns, delayed_ns
            delayed_ns = again_ns

    def _delay_ns(self) -> int:
        return int(os.pread(self._schedstat, 64, 0).split()[1])
