"""A promise of a response, without an event loop.

The response to JoinGroup is sent when the last member has joined, that to OffsetCommit when its record is committed.
Decisions hold a `Promise` and complete it at that time; only `runtime.py` makes an asyncio future of it.
A `Promise` is completed exactly once: a second `complete` is a bug of the caller and raises RuntimeError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from signalbox.protocol.error_table import KafkaError

T = TypeVar("T")
U = TypeVar("U")

_PENDING = object()


class Promise(Generic[T]):
    """A value or `KafkaError` that is set once; callbacks run in the order of their registration."""

    __slots__ = ("_error", "_value", "_waiting")

    def __init__(self) -> None:
        self._value: object = _PENDING
        self._error: KafkaError | None = None
        self._waiting: list[Callable[[], None]] = []

    @classmethod
    def of(cls, value: T) -> Promise[T]:
        """A `Promise` that is complete."""
        promise: Promise[T] = cls()
        promise._value = value
        return promise

    @classmethod
    def failed(cls, error: KafkaError) -> Promise[T]:
        """A `Promise` that has failed."""
        promise: Promise[T] = cls()
        promise._error = error
        return promise

    @property
    def done(self) -> bool:
        return self._value is not _PENDING or self._error is not None

    @property
    def error(self) -> KafkaError | None:
        return self._error

    def value(self) -> T:
        """The value. Raises the KafkaError that it failed with, or RuntimeError while it is pending."""
        if self._error is not None:
            raise self._error
        if self._value is _PENDING:
            raise RuntimeError("the promise is still pending")
        return self._value  # type: ignore[return-value]

    def complete(self, value: T) -> None:
        self._settle(value, None)

    def fail(self, error: KafkaError) -> None:
        self._settle(_PENDING, error)

    def when_done(self, callback: Callable[[], None]) -> None:
        """Call `callback` when this is done; at once if it is done already."""
        if self.done:
            callback()
        else:
            self._waiting.append(callback)

    def map(self, make: Callable[[T], U]) -> Promise[U]:
        """A `Promise` with `make` applied to this one's value; an error is passed on."""
        promise: Promise[U] = Promise()

        def settle() -> None:
            if self._error is not None:
                promise.fail(self._error)
            else:
                promise.complete(make(self.value()))

        self.when_done(settle)
        return promise

    def recover(self, make: Callable[[KafkaError], T]) -> Promise[T]:
        """A `Promise` with this one's value, or `make` applied to its error."""
        promise: Promise[T] = Promise()

        def settle() -> None:
            promise.complete(self.value() if self._error is None else make(self._error))

        self.when_done(settle)
        return promise

    def _settle(self, value: object, error: KafkaError | None) -> None:
        if self.done:
            raise RuntimeError("the promise is completed twice")
        self._value, self._error = value, error
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
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
            gathered.complete([promise.value() for promise in promises])

    for promise in promises:
        promise.when_done(count)
    return gathered
