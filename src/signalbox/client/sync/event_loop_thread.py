"""A thread that runs an event loop, and calls into it from other threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class EventLoopThread:
    """Runs from its creation to `close`. `call` may be used by several threads at once, but not by the loop's own."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def submit(self, method: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin `method(*args, **kwargs)` in the loop. RuntimeError after `close`, or in the loop's own thread."""
        if threading.current_thread() is self._thread:
            raise RuntimeError("a blocking call inside the event loop would wait for itself")
        if self.loop.is_closed():
            raise RuntimeError("the client is closed")

        async def run() -> T:
            return await method(*args, **kwargs)

        return asyncio.run_coroutine_threadsafe(run(), self.loop)

    def call(self, method: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `method(*args, **kwargs)`. An interrupt (Ctrl-C) of the calling thread cancels it."""
        future = self.submit(method, *args, **kwargs)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a function that does not wait, executed in the loop."""

        async def in_loop() -> T:
            return function(*args, **kwargs)

        return self.call(in_loop)

    def close(self) -> None:
        """Stop the loop and end the thread; a second call does nothing."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()
            self.loop.close()
