from __future__ import annotations

import asyncio
import threading

import pytest

from signalbox.common.limits import MAX_CALLBACKS_AT_ONCE
from signalbox.network.sasl.callback_threads import CallbackThreads


def test_work_in_threads_and_results_in_the_loop_a_few_at_once() -> None:
    async def main() -> None:
        threads, release = CallbackThreads(), threading.Event()
        running, most, lock = 0, 0, threading.Lock()
        results: asyncio.Queue[int] = asyncio.Queue()

        def work(number: int) -> int:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            release.wait(10)
            with lock:
                running -= 1
            return number

        for number in range(3 * MAX_CALLBACKS_AT_ONCE):
            threads.run(lambda number=number: work(number), results.put_nowait)  # type: ignore[misc]
        assert results.empty()
        release.set()
        found = {await results.get() for _ in range(3 * MAX_CALLBACKS_AT_ONCE)}
        assert found == set(range(3 * MAX_CALLBACKS_AT_ONCE))
        assert most == MAX_CALLBACKS_AT_ONCE

    asyncio.run(main())


def test_no_callback_on_a_closed_loop() -> None:
    begun, release = threading.Event(), threading.Event()
    results: list[bool] = []

    def check() -> bool:
        begun.set()
        return release.wait(10)

    async def main() -> None:
        CallbackThreads().run(check, results.append)
        begun.wait(10)

    asyncio.run(main())
    release.set()
    for thread in threading.enumerate():
        if thread.name == "sasl-callback":
            thread.join(10)
    assert results == []


def test_work_that_fails_gives_its_place_back(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        threads, results = CallbackThreads(), asyncio.Event()
        for _ in range(2 * MAX_CALLBACKS_AT_ONCE):
            threads.run(lambda: 1 // 0, print)
        threads.run(lambda: None, lambda _: results.set())
        await asyncio.wait_for(results.wait(), 60)

    asyncio.run(main())
    assert "ZeroDivisionError" in caplog.text
