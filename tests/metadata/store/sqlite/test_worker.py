"""One thread runs the jobs in order; the results arrive on the event loop."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest

from signalbox.metadata.store.port import StoreUnavailable
from signalbox.metadata.store.sqlite.worker import Worker


def test_jobs_run_in_order_on_one_other_thread() -> None:
    async def scenario() -> None:
        worker, seen = Worker("test"), []

        def job(number: int) -> int:
            seen.append((number, threading.get_ident()))
            return number

        answers = await asyncio.gather(*(worker.submit(partial(job, number)) for number in range(20)))
        assert answers == list(range(20))
        assert [number for number, _ in seen] == list(range(20))
        assert {ident for _, ident in seen}.isdisjoint({threading.get_ident()})
        worker.stop()
        assert worker.join(5)

    asyncio.run(scenario())


def test_errors_reach_the_caller_and_the_thread_lives_on() -> None:
    async def scenario() -> None:
        worker = Worker("test")
        with pytest.raises(ZeroDivisionError):
            await worker.submit(lambda: 1 // 0)
        assert await worker.submit(lambda: 7) == 7
        worker.stop()

    asyncio.run(scenario())


def test_stop_finishes_what_is_queued_and_takes_no_more() -> None:
    async def scenario() -> None:
        worker, done = Worker("test"), []
        queued = worker.submit(lambda: done.append("queued"))
        worker.stop(last=lambda: done.append("last"))
        with pytest.raises(StoreUnavailable):
            await worker.submit(lambda: done.append("never"))
        await queued
        assert worker.join(5)
        assert done == ["queued", "last"]

    asyncio.run(scenario())


def test_a_cancelled_caller_does_not_stop_other_work() -> None:
    async def scenario() -> None:
        worker, may_go_on = Worker("test"), threading.Event()
        slow = worker.submit(lambda: may_go_on.wait(5))
        slow.cancel()
        may_go_on.set()
        assert await worker.submit(lambda: "next") == "next"
        worker.stop()

    asyncio.run(scenario())
