"""Threads for callbacks that may block (directories, introspection endpoints), so that no plane is blocked.

A callback that never returns keeps its thread: a few run at the same time, the others wait in a queue, and a connection
that waits too long is closed by `signalbox.connection.setup.timeout.ms`. The threads are daemons: a blocked one does
not keep the process alive.
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
    """One per listener. `work` runs in a thread and must not raise; `done` is called with its result in the loop."""

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
            callback: Callable[[], None] = partial(done, work())
        except Exception:  # no result: the waiting connection is closed by its timeout
            log.exception("Callback failed unexpectedly: the connection waits until its timeout")
            callback = _no_result
        try:
            loop.call_soon_threadsafe(self._finish, callback)
        except RuntimeError:
            pass  # the loop is closed: no connection waits for the result

    def _finish(self, done: Callable[[], None]) -> None:
        self._running -= 1
        done()
        self._next()


def _no_result() -> None:
    """Used when there is no result."""
