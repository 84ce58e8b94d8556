"""A response now or later: callbacks, await, abandon."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.replication.waiting.promise import Promise, completed


def test_callbacks_run_once_in_order() -> None:
    seen: list[str] = []
    promise: Promise[str] = Promise()
    promise.then(lambda value: seen.append(f"first {value}"))
    promise.then(lambda value: seen.append(f"second {value}"))
    assert (promise.done, seen) == (False, [])
    promise.complete("x")
    promise.complete("y")
    assert (promise.value, seen) == ("x", ["first x", "second x"])
    promise.then(lambda value: seen.append(f"late {value}"))
    assert seen[-1] == "late x"


def test_a_value_that_is_not_there_cannot_be_read() -> None:
    with pytest.raises(RuntimeError, match="still pending"):
        _ = Promise[int]().value


def test_abandon_calls_on_abandon_once_and_drops_callbacks() -> None:
    calls: list[str] = []
    promise: Promise[int] = Promise()
    promise.on_abandon = lambda: calls.append("gone")
    promise.then(lambda value: calls.append("called"))
    promise.abandon()
    promise.abandon()
    promise.complete(1)
    assert calls == ["gone"]


def test_abandon_of_a_completed_promise_has_no_effect() -> None:
    calls: list[str] = []
    promise = completed(5)
    promise.on_abandon = lambda: calls.append("gone")
    promise.abandon()
    assert (promise.value, calls) == (5, [])


def test_it_can_be_awaited_before_and_after() -> None:
    async def scenario() -> list[int]:
        promise: Promise[int] = Promise()
        asyncio.get_running_loop().call_soon(promise.complete, 7)
        return [await promise, await promise, await completed(8)]

    assert asyncio.run(scenario()) == [7, 7, 8]


def test_a_cancelled_waiter_does_not_disturb_the_answer() -> None:
    async def scenario() -> int:
        promise: Promise[int] = Promise()

        async def wait() -> int:
            return await promise

        task = asyncio.get_running_loop().create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        promise.complete(3)
        return promise.value

    assert asyncio.run(scenario()) == 3
