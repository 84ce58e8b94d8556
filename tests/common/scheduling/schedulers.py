"""Schedulers for tests in which slices do not matter."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from signalbox.common.scheduling.task_scheduler import TaskScheduler

_ENDLESS_US = 10**15


class ImmediateScheduler(TaskScheduler):
    """Runs everything at once, to its end: its slices never end. It needs no event loop."""

    def __init__(self) -> None:
        super().__init__(NoLoop(), _ENDLESS_US)


class NoLoop:
    """An event loop that never runs."""

    def call_soon(self, callback: Callable[[], object], /) -> None:
        raise AssertionError("the work does not end in its first slice")

    def create_future(self) -> CompleteFuture:
        return CompleteFuture()


class CompleteFuture:
    """A future that is complete before it is awaited."""

    def __init__(self) -> None:
        self._result: Any = None
        self._error: Exception | None = None
        self._is_done = False

    def done(self) -> bool:
        return self._is_done

    def cancelled(self) -> bool:
        return False

    def set_result(self, result: Any, /) -> None:
        self._result, self._is_done = result, True

    def set_exception(self, exception: Exception, /) -> None:
        self._error, self._is_done = exception, True

    def add_done_callback(self, callback: Callable[[Any], object], /) -> None:
        raise AssertionError("complete already")

    def __await__(self) -> Generator[Any, None, Any]:
        assert self._is_done
        if self._error is not None:
            raise self._error
        return self._result
        yield  # makes this a generator
