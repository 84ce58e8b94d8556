"""Long work in the middle of a coroutine gives way, and ends with what it came to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from signalbox.broker.in_slices import in_slices
from signalbox.common.long_work import is_long, unhurried
from signalbox.transport.long_lane import LongLane


def test_others_have_their_turn_meanwhile() -> None:
    async def scenario() -> tuple[int, bool, int]:
        rounds = 0

        async def others() -> None:
            nonlocal rounds
            while True:
                await asyncio.sleep(0)
                rounds += 1

        beside = asyncio.ensure_future(others())
        lane = LongLane(asyncio.get_running_loop())
        total = await in_slices(lane, lambda: sum(unhurried(range(50_000))))
        long = await in_slices(lane, is_long)
        beside.cancel()
        return total, long, rounds

    total, long, rounds = asyncio.run(scenario())
    assert (total, long) == (sum(range(50_000)), True)
    assert rounds > 10


def test_its_error_is_the_callers() -> None:
    def fails() -> None:
        raise ValueError("a bug")

    async def scenario() -> None:
        await in_slices(LongLane(asyncio.get_running_loop()), fails)

    with pytest.raises(ValueError, match="a bug"):
        asyncio.run(scenario())


def test_nobody_waits_any_more() -> None:
    class Later:
        def run(self, work: Callable[[], None], again: bool = False) -> None:
            self.work = work

    async def scenario() -> Any:
        lane = Later()
        done = in_slices(lane, lambda: 1)
        done.cancel()
        lane.work()
        return done.cancelled()

    assert asyncio.run(scenario())
