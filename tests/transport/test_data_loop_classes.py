"""Traffic classes in the data loop: who is handled before whom."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.common.cooperative_task import yield_if_due
from signalbox.transport.data_loop import WRITE, DataLoop
from signalbox.transport.fair_scheduler import TrafficClass
from signalbox.transport.node_event_loop import NodeEventLoop
from signalbox.transport.time_slice import TimeSlice
from tests.transport.loop_worker import Worker
from tests.transport.loopback import until


def test_other_members_and_asyncio_run_between_the_slices_of_a_task() -> None:
    async def main() -> None:
        log: list[str] = []
        slices = 200  # many: after a pause of the machine the overdue ones run at once
        loop = DataLoop(asyncio.get_running_loop(), budget_us=0)
        light, heavy = Worker(loop, 0.0, log), Worker(loop, 0.0, log, "heavy event")
        loop.reclassify(heavy.ours, TrafficClass.HEAVY)

        def work() -> None:
            for _ in range(slices):
                log.append("slice")
                yield_if_due()

        loop.run_in_slices(heavy, TrafficClass.HEAVY, work)
        for worker in (light, heavy):
            worker.theirs.send(b"x")  # never read, so the socket stays ready
        while log.count("heavy event") < 1:
            await asyncio.sleep(0)
            log.append("poll")
        first, last = log.index("slice"), log.index("heavy event")
        assert log[:last].count("slice") == slices, "a member's events wait for its task"
        assert {"poll", "event"} <= set(log[first:last])
        light.close()
        heavy.close()
        loop.close()

    asyncio.run(main())


@pytest.mark.spec("C5")
def test_heavy_events_wait_for_light_ones_and_still_have_their_share() -> None:
    async def main() -> None:
        log: list[str] = []
        loop = DataLoop(asyncio.get_running_loop(), budget_us=200)
        lights = [Worker(loop, 0.0001, log, "light") for _ in range(20)]
        heavies = [Worker(loop, 0.001, log, f"heavy {number}") for number in range(2)]
        for heavy in heavies:
            loop.reclassify(heavy.ours, TrafficClass.HEAVY)
        for worker in (*lights, *heavies):
            worker.theirs.send(b"x")
        await until(lambda: len(log) >= 400)
        assert log[0] == "light"
        counts = {name: log.count(name) for name in set(log)}
        assert counts["heavy 0"] + counts["heavy 1"] >= 400 // 40, "half of the time is a tenth of the events"
        assert abs(counts["heavy 0"] - counts["heavy 1"]) <= 1 + max(counts.values()) // 10
        for worker in (*lights, *heavies):
            worker.close()
        loop.close()

    asyncio.run(main())


@pytest.mark.spec("C5")
def test_many_heavy_sockets_that_wait_are_not_watched_until_their_works_are_done() -> None:
    async def main() -> None:
        log: list[str] = []
        loop = DataLoop(asyncio.get_running_loop(), budget_us=200)
        heavies = [Worker(loop, 0.0002, log, f"heavy {number}") for number in range(100)]
        for heavy in heavies:
            loop.reclassify(heavy.ours, TrafficClass.HEAVY)
            heavy.theirs.send(b"x")
        await until(lambda: len(loop._unwatched) > 50)
        light = Worker(loop, 0.0, log, "light")
        light.theirs.send(b"x")
        gone = next(each for each in heavies if each.fair in loop._unwatched)
        gone.close()
        heavies.remove(gone)
        changed = next(each for each in heavies if each.fair in loop._unwatched)
        loop.modify(changed.ours, WRITE)  # counts when its works are done: a socket that can be written to is ready
        del log[:]
        await until(lambda: all(log.count(each.name) >= 3 for each in heavies))
        assert "light" in log
        assert log.count(gone.name) == 0
        for worker in (*heavies, light):
            worker.close()
        assert not loop._unwatched
        loop.close()

    asyncio.run(main())


@pytest.mark.spec("C5")
@pytest.mark.parametrize("traffic_class", [TrafficClass.LIGHT, TrafficClass.HEAVY])
def test_the_time_slice_ends_between_iterations_while_heavy_works_wait(traffic_class: TrafficClass) -> None:
    async def main() -> list[str]:
        log: list[str] = []
        done = asyncio.Event()  # a coroutine that looks again and again would be work of asyncio after each iteration
        loop = DataLoop(asyncio.get_running_loop(), 100, None, TimeSlice(lambda: log.append("others")))

        class Counted(Worker):
            def on_events(self, events: int) -> None:
                super().on_events(events)
                if log.count("event") == 40:
                    done.set()

        workers = [Counted(loop, 0.0003, log) for _ in range(6)]
        for worker in workers:
            loop.reclassify(worker.ours, traffic_class)
            worker.theirs.send(b"x")
        await done.wait()
        for worker in workers:
            worker.close()
        loop.close()
        return log

    with asyncio.Runner(loop_factory=NodeEventLoop) as runner:
        times = runner.run(main()).count("others")
    assert times >= 4 if traffic_class is TrafficClass.HEAVY else times == 0


def test_a_member_changes_its_class_behind_its_works() -> None:
    async def main() -> None:
        log: list[str] = []
        loop = DataLoop(asyncio.get_running_loop())
        worker = Worker(loop, 0.0, log)
        loop.reclassify(worker.ours, TrafficClass.HEAVY)
        loop.run_as_member(worker, TrafficClass.HEAVY, lambda: log.append("first"))
        loop.reclassify(worker.ours, TrafficClass.LIGHT)
        loop.run_as_member(worker, TrafficClass.LIGHT, lambda: log.append("second"))
        worker.theirs.send(b"x")
        await until(lambda: "event" in log)
        assert log[:3] == ["first", "second", "event"]
        loop.modify(worker.ours, WRITE)
        worker.close()
        loop.close()

    asyncio.run(main())
