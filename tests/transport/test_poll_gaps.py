from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from signalbox.common.metrics import MetricName, NullMetrics
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.poll_gaps import PollGaps
from tests.transport.loopback import data_channel, framed


class Gauges(NullMetrics):
    def __init__(self) -> None:
        self.read: dict[str, Callable[[], float]] = {}

    def gauge(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        assert tags is not None
        self.read[tags["le"]] = read


def spin(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_gaps_are_counted_by_processor_time_and_told_cumulated() -> None:
    gaps, gauges = PollGaps(), Gauges()
    gaps.register(gauges)
    spin(0.003)
    gaps.note()
    time.sleep(0.01)  # not processor time
    gaps.note()
    assert gauges.read["+Inf"]() == 2
    assert gauges.read["2500"]() == 1
    assert gauges.read["20000"]() == 2


def test_a_data_loop_notes_every_turn() -> None:
    async def main() -> None:
        async with data_channel() as (loop, owner, client):
            loop.poll_gaps = PollGaps()
            client.send(framed(b"x"))
            assert await owner.frames.get() == b"x"
            assert sum(loop.poll_gaps.counts) >= 1

    asyncio.run(main())


def test_without_being_asked_nothing_is_measured() -> None:
    async def main() -> None:
        loop = DataLoop(asyncio.get_running_loop())
        assert loop.poll_gaps is None
        loop.close()

    asyncio.run(main())
