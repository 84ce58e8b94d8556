"""A thread that runs an event loop, and calls into it from other threads.

`close` ends every call that is under way, so that no thread waits for a loop that has stopped.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from typing import ParamSpec, TypeVar, TypeVarTuple

from signalbox.client.failures import ChannelClosed

P = ParamSpec("P")
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class EventLoopThread:
    """Runs from its creation to `close`. `call` may be used by several threads at once, but not by the loop's own."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._lock = threading.Lock()  # a call begins before `close`, or not at all
        self._closing = False
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def submit(self, method: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin `method(*args, **kwargs)` in the loop. RuntimeError after `close`, or in the loop's own thread."""
        self._check_thread()

        async def run() -> T:
            return await method(*args, **kwargs)

        with self._lock:
            if self._closing:
                raise RuntimeError("the client is closed")
            return asyncio.run_coroutine_threadsafe(run(), self.loop)

    def _check_thread(self) -> None:
        if threading.current_thread() is self._thread:
            raise RuntimeError("a blocking call inside the event loop would wait for itself")

    def call(self, method: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `method(*args, **kwargs)`. An interrupt (Ctrl-C) of the calling thread cancels it.
        ChannelClosed if another thread calls `close` meanwhile."""
        return self.result_of(self.submit(method, *args, **kwargs))

    def result_of(self, future: Future[T]) -> T:
        """The result of a submitted call, as `call` waits for it."""
        try:
            return future.result()
        except CancelledError:
            if self._closing:
                raise ChannelClosed("the client was closed during the call") from None
            raise
        except BaseException:
            future.cancel()
            raise

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a function that does not wait, executed in the loop."""

        async def in_loop() -> T:
            return function(*args, **kwargs)

        return self.call(in_loop)

    def schedule(self, callback: Callable[[*Ts], object], *args: *Ts) -> None:
        """Execute `callback` in the loop; not after `close`, which has cancelled what might wait for it."""
        with self._lock:
            if not self._closing:
                self.loop.call_soon_threadsafe(callback, *args)

    def close(self, last: Callable[[], Awaitable[None]] | None = None) -> None:
        """Cancel all tasks, calls included, await `last`, stop the loop, end the thread. A second call does nothing."""
        self._check_thread()
        with self._lock:
            closed, self._closing = self._closing, True
        if closed:
            return
        try:
            asyncio.run_coroutine_threadsafe(self._end(last), self.loop).result()
        finally:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()
            self.loop.close()

    async def _end(self, last: Callable[[], Awaitable[None]] | None) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if last is not None:
            await last()
        await self.loop.shutdown_asyncgens()

    @property
    def is_closed(self) -> bool:
        """Whether `close` has been called."""
        return self._closing
