"""A result that may come later, without an event loop: what replication, coordinator and broker return if they wait.

The response to JoinGroup is complete when the last member has joined, that to Produce when the replicas have the batch.
The owner of a `Promise` completes it once, on the event loop's thread; callbacks run at once, in the stack of
`complete`, so the caller's objects must be in order before that. A second `complete` or `fail` is a bug of the caller.
Coroutines wait by `broker/api_request.as_future`, the only conversion to asyncio.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")
E = TypeVar("E", bound=Exception)


class Promise(Generic[T]):
    """A value of type `T` or an error. Callbacks run in the order of their registration."""

    __slots__ = ("_callbacks", "_value", "error", "is_done")

    def __init__(self) -> None:
        self.is_done = False
        self.error: Exception | None = None
        self._value: Any = None
        self._callbacks: list[Callable[[], object]] = []

    @classmethod
    def of(cls, value: T) -> Promise[T]:
        """A `Promise` that is complete."""
        promise: Promise[T] = Promise()
        promise.is_done, promise._value = True, value
        return promise

    @classmethod
    def failed(cls, error: Exception) -> Promise[T]:
        """A `Promise` that has failed."""
        promise: Promise[T] = Promise()
        promise.is_done, promise.error = True, error
        return promise

    def result(self) -> T:
        """The value. Raises the error that the promise failed with, or RuntimeError if it is not done."""
        if self.error is not None:
            raise self.error
        if not self.is_done:
            raise RuntimeError("the promise is still pending")
        return self._value  # type: ignore[no-any-return]

    def complete(self, value: T) -> None:
        """Set the value and run the callbacks."""
        self._settle(value, None)

    def fail(self, error: Exception) -> None:
        """Set the error and run the callbacks."""
        self._settle(None, error)

    def when_done(self, callback: Callable[[], object]) -> None:
        """Call `callback` when this is done, with a value or an error; at once if it is done already."""
        if self.is_done:
            callback()
        else:
            self._callbacks.append(callback)

    def then(self, callback: Callable[[T], object]) -> None:
        """Call `callback` with the value; at once if it is set already, never after an error."""

        def call() -> None:
            if self.error is None:
                callback(self._value)

        self.when_done(call)

    def forward_to(self, other: Promise[T]) -> None:
        """Complete or fail `other` as this one."""

        def settle() -> None:
            other._settle(self._value, self.error)

        self.when_done(settle)

    def map(self, make: Callable[[T], U]) -> Promise[U]:
        """A `Promise` with `make` applied to this one's value; errors, also those of `make`, are passed on."""
        made: Promise[U] = Promise()

        def settle() -> None:
            if self.error is not None:
                made.fail(self.error)
                return
            try:
                value = make(self._value)
            except Exception as error:
                made.fail(error)
            else:
                made.complete(value)

        self.when_done(settle)
        return made

    def recover(self, kind: type[E], make: Callable[[E], T]) -> Promise[T]:
        """A `Promise` with this one's value, or `make` applied to its error if that is of `kind`."""
        recovered: Promise[T] = Promise()

        def settle() -> None:
            if self.error is None:
                recovered.complete(self._value)
            elif isinstance(self.error, kind):
                recovered.complete(make(self.error))
            else:
                recovered.fail(self.error)

        self.when_done(settle)
        return recovered

    def _settle(self, value: Any, error: Exception | None) -> None:
        if self.is_done:
            raise RuntimeError("the promise is completed twice")
        self.is_done, self._value, self.error = True, value, error
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()


def gather(promises: list[Promise[T]]) -> Promise[list[T]]:
    """All values in the order of `promises`, when the last is done; the first error if any failed."""
    gathered: Promise[list[T]] = Promise()
    missing = len(promises)
    if not missing:
        return Promise.of([])

    def count() -> None:
        nonlocal missing
        missing -= 1
        if missing:
            return
        error = next((promise.error for promise in promises if promise.error is not None), None)
        if error is not None:
            gathered.fail(error)
        else:
            gathered.complete([promise.result() for promise in promises])

    for promise in promises:
        promise.when_done(count)
    return gathered
