"""The one thread that accesses the file: it runs jobs strictly in order and returns results on the event loop.

The order matters: a read that is queued after a commit sees it, and the first fingerprint of a watch is taken before
the reads that its owner queues next.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from signalbox.metadata.store.port import StoreUnavailable

T = TypeVar("T")
_Job = Callable[[], None]


class Worker:
    """A thread with a queue. `stop` lets the jobs already queued finish."""

    def __init__(self, name: str) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Run `work` on the thread; the future is resolved on the calling event loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        if self._stopped:
            future.set_exception(StoreUnavailable("the store is closed"))
            return future

        def job() -> None:
            try:
                result = work()
            except Exception as error:
                _answer(loop, future, error=error)
            else:
                _answer(loop, future, result=result)

        self._jobs.put(job)
        return future

    def stop(self, last: Callable[[], None] | None = None) -> None:
        """Accept no more jobs; the queued ones and `last` still run. Does not wait: see `join`."""
        if not self._stopped:
            self._stopped = True
            if last is not None:
                self._jobs.put(last)
            self._jobs.put(None)

    def join(self, timeout_s: float) -> bool:
        """Wait for the thread to end; returns whether it has ended."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


def _answer(
    loop: asyncio.AbstractEventLoop,
    future: asyncio.Future[T],
    result: T | None = None,
    error: Exception | None = None,
) -> None:
    def resolve() -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    try:
        loop.call_soon_threadsafe(resolve)
    except RuntimeError:
        # The loop was closed while the job ran: no caller waits for the result.
        return
