"""A response that may come later: the return type of all operations of replication that can wait.

A `Promise` is completed once, on the event loop's thread. The caller either registers a callback (the data plane: no
future, no task, no iteration of asyncio) or awaits it. `abandon` (the connection was closed) notifies the parked
operation, so that nothing stays parked for a closed connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Promise(Generic[T]):
    """A value of type `T`, now or later."""

    __slots__ = ("_callbacks", "_value", "done", "on_abandon")

    def __init__(self) -> None:
        self.done = False
        self._value: T | None = None
        self._callbacks: list[Callable[[T], None]] | None = None
        self.on_abandon: Callable[[], None] | None = None

    @property
    def value(self) -> T:
        """The value. RuntimeError if not `done`."""
        if not self.done:
            raise RuntimeError("the result is still pending")
        return self._value  # type: ignore[return-value]

    def complete(self, value: T) -> None:
        """Set the value and run the callbacks. A second call has no effect: deadline and event may coincide."""
        if self.done:
            return
        self.done = True
        self._value = value
        self.on_abandon = None
        callbacks, self._callbacks = self._callbacks, None
        if callbacks:
            for callback in callbacks:
                callback(value)

    def then(self, callback: Callable[[T], None]) -> None:
        """Call `callback` with the value; at once if it is set already."""
        if self.done:
            callback(self._value)  # type: ignore[arg-type]
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def abandon(self) -> None:
        """The response is no longer needed: drop the parked operation; no callback will run."""
        if self.done:
            return
        self._callbacks = None
        on_abandon, self.on_abandon = self.on_abandon, None
        if on_abandon is not None:
            on_abandon()

    def __await__(self) -> Generator[Any, None, T]:
        if not self.done:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.then(lambda _: None if future.done() else future.set_result(None))
            yield from future
        return self.value


def completed(value: T) -> Promise[T]:
    """A `Promise` that is complete."""
    promise: Promise[T] = Promise()
    promise.done = True
    promise._value = value
    return promise
