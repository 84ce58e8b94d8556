"""Runs operations that may wait for the disk longer than the event loop may wait: fsync, removal of files.

A port with two implementations: inline (tests, tools, shutdown), or one thread, so that jobs keep their order.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

Work = Callable[[], None]
Done = Callable[[BaseException | None], None]


class Background(Protocol):
    closed: bool
    """Whether `close` was called: no work is accepted any more."""

    def run(self, work: Work, done: Done) -> None:
        """Does `work`, then calls `done` on the loop's thread with the exception, or None."""
        ...

    def close(self) -> None:
        """Returns when all submitted work is done."""
        ...


class InlineBackground:
    """Does the work at once, also after `close`."""

    closed = False

    def run(self, work: Work, done: Done) -> None:
        error: BaseException | None = None
        try:
            work()
        except OSError as raised:
            error = raised
        done(error)

    def close(self) -> None:
        """No work is ever pending."""


class ThreadBackground:
    """One thread, started with the first work. `call_soon` calls `done` on the loop's thread."""

    def __init__(self, call_soon: Callable[[Callable[[], None]], object], name: str = "signalbox-disk") -> None:
        self.closed = False
        self._call_soon = call_soon
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    def run(self, work: Work, done: Done) -> None:
        def finish(future: Future[None]) -> None:
            error = future.exception()
            self._call_soon(lambda: done(error))

        self._executor.submit(work).add_done_callback(finish)

    def close(self) -> None:
        self.closed = True
        self._executor.shutdown(wait=True)
