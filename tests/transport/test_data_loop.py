from __future__ import annotations

import asyncio
import itertools
import selectors
import socket
import time

import pytest

from signalbox.transport.data_loop import WRITE, DataLoop
from signalbox.transport.fair_scheduler import TrafficClass
from signalbox.transport.node_event_loop import NodeEventLoop
from tests.transport.loop_worker import Worker
from tests.transport.loopback import spin, until


class Sender:
    def __init__(self, log: list[str]) -> None:
        self.log = log

    def flush(self) -> None:
        self.log.append("flush")


class CountingSelector(selectors.EpollSelector):
    def __init__(self) -> None:
        super().__init__()
        self.polls = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.polls += 1
        return super().select(timeout)


def test_a_saturated_loop_lets_asyncio_poll_after_every_slice() -> None:
    async def main() -> None:
        log: list[str] = []
        loop = DataLoop(asyncio.get_running_loop(), budget_us=300)
        workers = [Worker(loop, 0.0002, log) for _ in range(20)]
        for worker in workers:
            worker.theirs.send(b"x")  # never read, so the socket stays ready
        polls = []
        for _ in range(20):
            await asyncio.sleep(0)
            polls.append(len(log))
        steps = [after - before for before, after in itertools.pairwise(polls)]
        assert max(steps) <= 4  # two slices at most between two polls of the control plane
        assert sum(steps) >= 15
        assert loop.queued > 0
        assert loop.queue_seconds > 0
        for worker in workers:
            worker.close()
        loop.close()

    asyncio.run(main())


def test_left_over_events_come_before_new_ones() -> None:
    async def main() -> None:
        log: list[str] = []
        loop = DataLoop(asyncio.get_running_loop(), budget_us=1)
        workers = [Worker(loop, 0.0, log, str(number)) for number in range(5)]
        for worker in workers:
            worker.theirs.send(b"x")
        await until(lambda: len(log) >= 15)
        assert set(log[:5]) == set(log[5:10]) == {"0", "1", "2", "3", "4"}
        for worker in workers:
            worker.close()
        loop.close()

    asyncio.run(main())


def test_an_iteration_handles_events_then_runs_end_callbacks_then_sends() -> None:
    async def main() -> None:
        log: list[str] = []
        loop = DataLoop(asyncio.get_running_loop(), budget_us=1_000_000)

        class Requester(Worker):
            def on_events(self, events: int) -> None:
                self.ours.recv(1)
                self.log.append("event")
                self.loop.flush_soon(Sender(self.log))
                self.loop.at_iteration_end(lambda: self.log.append("end"))

        workers = [Requester(loop, 0, log) for _ in range(2)]
        for worker in workers:
            worker.theirs.send(b"x")
        await until(lambda: log.count("flush") == 2)
        assert log == ["event", "event", "end", "end", "flush", "flush"]
        for worker in workers:
            worker.close()
        loop.close()

    asyncio.run(main())


def test_work_from_outside_an_iteration_starts_one() -> None:
    async def main() -> None:
        log: list[str] = []
        loop = DataLoop(asyncio.get_running_loop())
        loop.flush_soon(Sender(log))
        loop.at_iteration_end(lambda: log.append("end"))
        loop.run_soon(lambda: log.append("run"))
        await until(lambda: bool(log))
        assert log == ["run", "end", "flush"]
        assert loop.iterations == 1
        loop.close()

    asyncio.run(main())


def test_work_beyond_the_budget_waits_for_the_next_iteration() -> None:
    async def main() -> None:
        log: list[str] = []
        loop = DataLoop(asyncio.get_running_loop(), budget_us=1)
        for number in range(3):
            loop.run_soon(lambda number=number: log.append(f"run {number}"))  # type: ignore[misc]
            loop.flush_soon(Sender(log))
        await until(lambda: bool(log))
        assert 0 < len(log) < 6
        await until(lambda: len(log) == 6)
        assert [entry for entry in log if entry != "flush"] == ["run 0", "run 1", "run 2"]
        loop.close()

    asyncio.run(main())


def test_work_without_end_does_not_keep_events_waiting() -> None:
    async def main() -> None:
        log: list[str] = []
        loop = DataLoop(asyncio.get_running_loop(), budget_us=50)

        def work() -> None:
            deadline = time.monotonic() + 0.0001
            while time.monotonic() < deadline:
                pass
            log.append("work")
            loop.run_soon(work)

        for _ in range(3):
            loop.run_soon(work)
        worker = Worker(loop, 0.0, log)
        worker.theirs.send(b"x")
        await until(lambda: log.count("event") >= 10)
        assert log.count("work") <= 3 * log.count("event")
        worker.close()
        loop.close()

    asyncio.run(main())


@pytest.mark.spec("C5")
def test_asyncio_runs_between_two_iterations_only_if_something_waits_there() -> None:
    log: list[str] = []

    async def main() -> None:
        asyncio_loop = asyncio.get_running_loop()
        loop = DataLoop(asyncio_loop, budget_us=0)
        done = asyncio_loop.create_future()
        control, controller = socket.socketpair()

        def on_control() -> None:
            control.recv(1)
            log.append("control")

        asyncio_loop.add_reader(control, on_control)

        class Controlled(Worker):
            def on_events(self, events: int) -> None:
                self.log.append(f"iteration {loop.iterations}")
                if loop.iterations == 50:
                    controller.send(b"x")
                if loop.iterations == 60:
                    asyncio_loop.call_soon(self.log.append, "callback")
                if loop.iterations == 70:
                    self.ours.recv(1)
                    done.set_result(None)

        worker = Controlled(loop, 0, log)
        worker.theirs.send(b"x")  # not read before the last iteration
        await done
        asyncio_loop.remove_reader(control)
        for each in (control, controller):
            each.close()
        worker.close()
        loop.close()

    selector = CountingSelector()
    with asyncio.Runner(loop_factory=lambda: NodeEventLoop(selector)) as runner:
        runner.run(main())
    assert selector.polls < 35, "70 iterations"
    # One more iteration at most: asyncio may call the data loop first.
    assert log.index("control") - log.index("iteration 50") <= 2
    assert log.index("callback") - log.index("iteration 60") <= 2


@pytest.mark.spec("C5")
def test_callbacks_that_follow_from_each_other_have_a_share_without_iterations_in_between() -> None:
    async def main() -> None:
        log: list[str] = []
        loop = DataLoop(asyncio.get_running_loop(), budget_us=20_000)
        worker = Worker(loop, 0.0001, log)
        worker.theirs.send(b"x")  # never read, so the socket stays ready
        longest = rounds = 0
        async with asyncio.timeout(60):
            while longest < 20 or len(log) < 2_000:  # events have their share, too
                before = len(log)
                await asyncio.sleep(0)
                rounds = rounds + 1 if len(log) == before else 0
                longest = max(longest, rounds)
        worker.close()
        loop.close()

    with asyncio.Runner(loop_factory=NodeEventLoop) as runner:
        runner.run(main())


def test_an_iteration_is_overdue_after_twice_its_budget() -> None:
    async def main() -> None:
        seen: list[bool] = []
        loop = DataLoop(asyncio.get_running_loop(), budget_us=20_000)
        loop.run_soon(lambda: seen.append(loop.overdue()))
        await asyncio.sleep(0)

        def late() -> None:
            spin(0.05)
            seen.append(loop.overdue())

        loop.run_soon(late)
        await asyncio.sleep(0)
        assert seen == [False, True]
        loop.close()

    asyncio.run(main())


def test_an_event_of_a_member_that_left_is_dropped() -> None:
    async def main() -> None:
        log: list[str] = []
        loop = DataLoop(asyncio.get_running_loop())
        second: list[Worker] = []

        class Evictor(Worker):
            def on_events(self, events: int) -> None:
                self.log.append(self.name)
                for other in second:
                    if other is not self and not other.ours._closed:  # type: ignore[attr-defined]
                        other.close()

        second += [Evictor(loop, 0, log, "a"), Evictor(loop, 0, log, "b")]
        for worker in second:
            worker.theirs.send(b"x")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(set(log)) == 1
        for worker in second:
            if worker.ours.fileno() >= 0:
                worker.close()
        loop.close()

    asyncio.run(main())


def test_an_idle_loop_does_not_iterate() -> None:
    async def main() -> None:
        loop = DataLoop(asyncio.get_running_loop())
        worker = Worker(loop, 0, [])
        iterations = loop.iterations
        for _ in range(50):
            await asyncio.sleep(0)
        assert loop.iterations == iterations
        worker.close()
        loop.close()
        assert loop.closed

    asyncio.run(main())


def test_the_interest_of_a_socket_that_is_not_in_the_set_cannot_be_changed() -> None:
    async def main() -> None:
        loop = DataLoop(asyncio.get_running_loop())
        worker = Worker(loop, 0.0, [], "gone")
        loop.unregister(worker.ours)
        with pytest.raises(FileNotFoundError):
            loop.modify(worker.ours, WRITE)
        worker.close()
        loop.close()

    asyncio.run(main())


def test_a_failed_task_does_not_stop_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        log: list[str] = []
        loop = DataLoop(asyncio.get_running_loop())
        worker = Worker(loop, 0.0, log)
        loop.run_in_slices(worker, TrafficClass.HEAVY, lambda: log.append(str(1 // 0)))
        loop.run_as_member(worker, TrafficClass.HEAVY, lambda: log.append("next"))
        await until(lambda: bool(log))
        assert log == ["next"]
        worker.close()
        loop.close()

    asyncio.run(main())
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("where", ["callback", "event", "flush"])
def test_a_member_that_fails_costs_no_other_its_work(where: str) -> None:
    class Failing(Worker):
        def flush(self) -> None:
            raise ZeroDivisionError

        def on_events(self, events: int) -> None:
            self.ours.recv(1)
            if where == "event":
                self.flush()

    async def main() -> None:
        errors: list[object] = []
        log: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context.get("exception")))
        loop = DataLoop(asyncio.get_running_loop(), budget_us=1_000_000)
        failing = Failing(loop, 0.0, log)
        workers = [failing, Worker(loop, 0.0, log, "event")]
        for worker in workers:
            worker.theirs.send(b"x")
        if where == "callback":
            loop.run_soon(failing.flush)
        loop.run_soon(lambda: log.append("callback"))
        if where == "flush":
            loop.flush_soon(failing)
        loop.flush_soon(Sender(log))
        await until(lambda: {"callback", "event", "flush"} <= set(log) and bool(errors))
        assert isinstance(errors[0], ZeroDivisionError)
        for worker in workers:
            worker.close()
        loop.close()

    asyncio.run(main())
