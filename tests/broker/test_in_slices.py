"""A cooperative task inside a coroutine yields to the event loop, and returns its result or raises its error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from signalbox.broker.in_slices import in_slices
from signalbox.common.cooperative_task import is_long, yielding
from signalbox.transport.task_scheduler import TaskScheduler
from tests.broker.handler_requests import ImmediateScheduler


def test_other_tasks_run_meanwhile() -> None:
    async def scenario() -> tuple[int, bool, int]:
        rounds = 0

        async def others() -> None:
            nonlocal rounds
            while True:
                await asyncio.sleep(0)
                rounds += 1

        beside = asyncio.ensure_future(others())
        scheduler = TaskScheduler(asyncio.get_running_loop())
        total = await in_slices(scheduler, lambda: sum(yielding(range(50_000))))
        long = await in_slices(scheduler, is_long)
        beside.cancel()
        return total, long, rounds

    total, long, rounds = asyncio.run(scenario())
    assert (total, long) == (sum(range(50_000)), True)
    assert rounds > 10


def test_its_error_is_the_callers() -> None:
    def fails() -> None:
        raise ValueError("a bug")

    async def scenario() -> None:
        await in_slices(TaskScheduler(asyncio.get_running_loop()), fails)

    with pytest.raises(ValueError, match="a bug"):
        asyncio.run(scenario())


def test_the_future_was_cancelled() -> None:
    class Later(ImmediateScheduler):
        def run(self, work: Callable[[], None], again: bool = False) -> None:
            self.work = work

    async def scenario() -> Any:
        scheduler = Later()
        done = in_slices(scheduler, lambda: 1)
        done.cancel()
        scheduler.work()
        return done.cancelled()

    assert asyncio.run(scenario())
