"""Threads for callbacks that may wait (directories, introspection endpoints), so that no plane waits with them.

A callback that never returns keeps its thread: a few at once are allowed, the others wait in line, and whoever waits
too long is closed by `connection.setup.timeout.ms`. Threads are daemons: a stuck one does not keep the process.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from signalbox.common.limits import MAX_CALLBACKS_AT_ONCE

T = TypeVar("T")

log = logging.getLogger(__name__)


class CallbackThreads:
    """One per listener. `work` runs in a thread and must not raise, `done` with its result in the loop."""

    def __init__(self) -> None:
        self._running = 0
        self._waiting: deque[tuple[Callable[[], Any], Callable[[Any], None]]] = deque()

    def run(self, work: Callable[[], T], done: Callable[[T], None]) -> None:
        self._waiting.append((work, done))
        self._next()

    def _next(self) -> None:
        while self._waiting and self._running < MAX_CALLBACKS_AT_ONCE:
            work, done = self._waiting.popleft()
            self._running += 1
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._run, args=(loop, work, done), name="sasl-callback", daemon=True).start()

    def _run(self, loop: asyncio.AbstractEventLoop, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        try:
            tell: Callable[[], None] = partial(done, work())
        except Exception:  # nobody is told: whoever waits is closed when its time is up
            log.exception("work in a callback thread failed")
            tell = _nothing
        try:
            loop.call_soon_threadsafe(self._finish, tell)
        except RuntimeError:
            pass  # the loop is closed: nobody is left to be told

    def _finish(self, done: Callable[[], None]) -> None:
        self._running -= 1
        done()
        self._next()


def _nothing() -> None:
    """What is done when there is no result."""
