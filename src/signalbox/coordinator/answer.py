"""A promise of a response, without an event loop.

The response to JoinGroup is sent when the last member has joined, that to OffsetCommit when its record is committed.
Decisions hold an `Answer` and complete it at that time; only `runtime.py` makes an asyncio future of it.
An `Answer` is completed exactly once: a second `complete` is a bug of the caller and raises RuntimeError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from signalbox.protocol.error_table import KafkaError

T = TypeVar("T")
U = TypeVar("U")

_PENDING = object()


class Answer(Generic[T]):
    """A value or `KafkaError` that is set once; callbacks run in the order of their registration."""

    __slots__ = ("_error", "_value", "_waiting")

    def __init__(self) -> None:
        self._value: object = _PENDING
        self._error: KafkaError | None = None
        self._waiting: list[Callable[[], None]] = []

    @classmethod
    def of(cls, value: T) -> Answer[T]:
        """An `Answer` that is complete."""
        made: Answer[T] = cls()
        made._value = value
        return made

    @classmethod
    def failed(cls, error: KafkaError) -> Answer[T]:
        """An `Answer` that has failed."""
        made: Answer[T] = cls()
        made._error = error
        return made

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
            raise RuntimeError("the answer is still pending")
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

    def map(self, make: Callable[[T], U]) -> Answer[U]:
        """An `Answer` with `make` applied to this one's value; an error is passed on."""
        made: Answer[U] = Answer()

        def settle() -> None:
            if self._error is not None:
                made.fail(self._error)
            else:
                made.complete(make(self.value()))

        self.when_done(settle)
        return made

    def recover(self, make: Callable[[KafkaError], T]) -> Answer[T]:
        """An `Answer` with this one's value, or `make` applied to its error."""
        made: Answer[T] = Answer()

        def settle() -> None:
            made.complete(self.value() if self._error is None else make(self._error))

        self.when_done(settle)
        return made

    def _settle(self, value: object, error: KafkaError | None) -> None:
        if self.done:
            raise RuntimeError("answered twice")
        self._value, self._error = value, error
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback()


def gather(answers: list[Answer[T]]) -> Answer[list[T]]:
    """All values in the order of `answers`, when the last is done; the first error if any failed."""
    made: Answer[list[T]] = Answer()
    missing = len(answers)
    if not missing:
        return Answer.of([])

    def count() -> None:
        nonlocal missing
        missing -= 1
        if missing:
            return
        rejected = next((answer.error for answer in answers if answer.error is not None), None)
        if rejected is not None:
            made.fail(rejected)
        else:
            made.complete([answer.value() for answer in answers])

    for answer in answers:
        answer.when_done(count)
    return made
