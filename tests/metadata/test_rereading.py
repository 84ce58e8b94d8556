"""Reading again: once for several notifications, once more for those that arrive meanwhile, with retries."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.metadata import rereading
from signalbox.metadata.rereading import Rereading
from signalbox.metadata.store.port import StoreUnavailable


def test_simultaneous_notifications_cause_one_read_and_later_ones_one_more() -> None:
    async def scenario() -> None:
        begun, go_on, times = asyncio.Semaphore(0), asyncio.Semaphore(0), 0

        async def read() -> None:
            nonlocal times
            times += 1
            begun.release()
            await go_on.acquire()

        reading = Rereading("it", read)
        reading.notify()
        reading.notify()
        await begun.acquire()
        reading.notify()
        reading.notify()
        go_on.release()
        await begun.acquire()
        assert times == 2
        await reading.stop()
        reading_again = Rereading("it", read)
        await reading_again.stop()  # stop() of an instance that never ran

    asyncio.run(scenario())


def test_a_store_that_does_not_answer_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(rereading, "_RETRY_S", 0.001)

    async def scenario() -> None:
        answered, times = asyncio.Event(), 0

        async def read() -> None:
            nonlocal times
            times += 1
            if times < 3:
                raise StoreUnavailable("not now")
            answered.set()

        Rereading("the entry", read).notify()
        await asyncio.wait_for(answered.wait(), 60)

    asyncio.run(scenario())
    assert caplog.text.count("Metadata could not be read and is read again (the entry): not now") == 2
