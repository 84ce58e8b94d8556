"""A response now or later: callbacks, await, abandon."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.replication.promise import Promise, completed


def test_callbacks_run_once_in_order() -> None:
    seen: list[str] = []
    pending: Promise[str] = Promise()
    pending.then(lambda value: seen.append(f"first {value}"))
    pending.then(lambda value: seen.append(f"second {value}"))
    assert (pending.done, seen) == (False, [])
    pending.complete("x")
    pending.complete("y")
    assert (pending.value, seen) == ("x", ["first x", "second x"])
    pending.then(lambda value: seen.append(f"late {value}"))
    assert seen[-1] == "late x"


def test_a_value_that_is_not_there_cannot_be_read() -> None:
    with pytest.raises(RuntimeError, match="still pending"):
        _ = Promise[int]().value


def test_giving_up_tells_the_other_side_once_and_silences_callbacks() -> None:
    told: list[str] = []
    pending: Promise[int] = Promise()
    pending.on_abandon = lambda: told.append("gone")
    pending.then(lambda value: told.append("called"))
    pending.abandon()
    pending.abandon()
    pending.complete(1)
    assert told == ["gone"]


def test_giving_up_what_is_done_does_nothing() -> None:
    told: list[str] = []
    pending = completed(5)
    pending.on_abandon = lambda: told.append("gone")
    pending.abandon()
    assert (pending.value, told) == (5, [])


def test_it_can_be_awaited_before_and_after() -> None:
    async def scenario() -> list[int]:
        pending: Promise[int] = Promise()
        asyncio.get_running_loop().call_soon(pending.complete, 7)
        return [await pending, await pending, await completed(8)]

    assert asyncio.run(scenario()) == [7, 7, 8]


def test_a_cancelled_waiter_does_not_disturb_the_answer() -> None:
    async def scenario() -> int:
        pending: Promise[int] = Promise()

        async def wait() -> int:
            return await pending

        task = asyncio.get_running_loop().create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        pending.complete(3)
        return pending.value

    assert asyncio.run(scenario()) == 3
