"""An answer that may come later: the one shape in which this room returns what can wait.

A `Pending` is completed once, on the loop's thread. Whoever asked either hangs a callback on it (the data plane: no
future, no task, no turn of asyncio) or awaits it. Giving up (`abandon`: the client is gone) tells the waiting side,
so that nothing stays parked for a closed connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Pending(Generic[T]):
    """A value of type `T`, now or later."""

    __slots__ = ("_callbacks", "_value", "done", "on_abandon")

    def __init__(self) -> None:
        self.done = False
        self._value: T | None = None
        self._callbacks: list[Callable[[T], None]] | None = None
        self.on_abandon: Callable[[], None] | None = None

    @property
    def value(self) -> T:
        """The value; only when `done`."""
        if not self.done:
            raise RuntimeError("the answer is still pending")
        return self._value  # type: ignore[return-value]

    def complete(self, value: T) -> None:
        """Give the value. A second call changes nothing: deadline and event may meet."""
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
        """Call `callback` with the value: at once when it is there."""
        if self.done:
            callback(self._value)  # type: ignore[arg-type]
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def abandon(self) -> None:
        """Nobody waits any more: the parked operation is dropped and no callback will run."""
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


def completed(value: T) -> Pending[T]:
    """A `Pending` that is already there."""
    pending: Pending[T] = Pending()
    pending.done = True
    pending._value = value
    return pending
