"""Periodic tasks run again whatever happened before; long ones yield to the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from signalbox.transport.task_scheduler import TaskScheduler
from signalbox.wiring.housekeeping import Housekeeping, repeat
from tests.wiring.settings import config_of


def at_once(work: Callable[[], None]) -> None:
    work()


async def until(task: asyncio.Task[None], enough: asyncio.Event) -> None:
    async with asyncio.timeout(5):
        await enough.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("trouble", [OSError("disk"), ValueError("a bug"), KeyError("a bug")])
def test_a_chore_that_fails_comes_round_again(trouble: Exception, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        times, enough = [], asyncio.Event()

        def chore() -> None:
            times.append(1)
            if len(times) == 3:
                enough.set()
            raise trouble

        await until(asyncio.ensure_future(repeat(0.0, chore, at_once)), enough)
        assert len(times) >= 3

    asyncio.run(scenario())
    assert "Background task failed" in caplog.text


def test_a_chore_in_slices_lets_others_run_between() -> None:
    async def scenario() -> None:
        order: list[str] = []
        enough = asyncio.Event()

        def slices() -> Iterator[None]:
            for _ in range(3):
                order.append("slice")
                asyncio.get_running_loop().call_soon(order.append, "other")
                yield
            enough.set()

        await until(
            asyncio.ensure_future(repeat(0.0, slices, TaskScheduler(asyncio.get_running_loop(), slice_us=0).run)),
            enough,
        )
        assert order[:6] == ["slice", "other"] * 3

    asyncio.run(scenario())


def test_the_first_time_has_a_delay_of_its_own() -> None:
    async def scenario() -> None:
        done = asyncio.Event()
        await until(asyncio.ensure_future(repeat(3_600.0, done.set, at_once, 0.0)), done)

    asyncio.run(scenario())


def test_never_is_longer_than_the_loops_clock_can_hold() -> None:
    async def scenario() -> None:
        task = asyncio.ensure_future(repeat((2**63 - 1) / 1000, lambda: None, at_once))
        await asyncio.sleep(0)
        assert not task.done()
        task.cancel()

    asyncio.run(scenario())


def test_idle_producers_expire_after_the_current_time_limit() -> None:
    asked: list[int] = []
    dynamic = SimpleNamespace(values={"producer.id.expiration.ms": 5})
    logs = SimpleNamespace(expire_producers=asked.append)
    components: Any = SimpleNamespace(context=SimpleNamespace(dynamic=dynamic), data=SimpleNamespace(logs=logs))
    housekeeping = Housekeeping(components, config_of())
    housekeeping._expire_producers()
    dynamic.values = {"producer.id.expiration.ms": 6}
    housekeeping._expire_producers()
    assert asked == [5, 6]
