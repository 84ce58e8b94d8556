from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

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


def test_after_close_there_are_no_calls(thread: EventLoopThread) -> None:
    thread.close()
    thread.close()
    with pytest.raises(RuntimeError, match="closed"):
        thread.call(double, 1)
