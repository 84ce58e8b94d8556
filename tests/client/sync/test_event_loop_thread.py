from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator

import pytest

from signalbox.client.failures import ChannelClosed
from signalbox.client.sync.event_loop_thread import EventLoopThread


@pytest.fixture
def thread() -> Iterator[EventLoopThread]:
    made = EventLoopThread("loop")
    yield made
    made.close()


async def double(number: int, *, fail: bool = False) -> int:
    await asyncio.sleep(0)
    if fail:
        raise ValueError("no")
    return number * 2


def test_calls_return_results_and_raise_errors(thread: EventLoopThread) -> None:
    assert thread.call(double, 4) == 8
    assert thread.submit(double, 5).result() == 10
    assert thread.run(lambda: threading.current_thread().name) == "loop"
    with pytest.raises(ValueError, match="no"):
        thread.call(double, 4, fail=True)


def test_a_call_from_the_loop_itself_is_an_error(thread: EventLoopThread) -> None:
    async def nested() -> None:
        thread.call(double, 1)

    with pytest.raises(RuntimeError, match="would wait for itself"):
        thread.call(nested)


def test_close_ends_the_calls_of_other_threads(thread: EventLoopThread) -> None:
    began = threading.Event()
    failures: queue.SimpleQueue[Exception] = queue.SimpleQueue()
    ended: list[str] = []

    async def forever() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("call")

    async def last() -> None:
        ended.append("last")

    def wait() -> None:
        try:
            thread.call(forever)
        except Exception as error:
            failures.put(error)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    assert began.wait(60)
    submitted = thread.submit(forever)
    thread.close(last)
    assert isinstance(failures.get(timeout=60), ChannelClosed)
    waiting.join()
    assert submitted.cancelled()
    assert ended == ["call", "call", "last"]
    thread.schedule(began.clear)
    assert began.is_set(), "nothing is executed after close"


def test_after_close_there_are_no_calls(thread: EventLoopThread) -> None:
    thread.close()
    thread.close()
    with pytest.raises(RuntimeError, match="closed"):
        thread.call(double, 1)
