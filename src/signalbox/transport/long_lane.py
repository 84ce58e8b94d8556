"""Where long work runs: a slice at once, the rest a slice per round of asyncio, in turns.

Between two slices asyncio polls, so the control plane is never more than a slice away; connections of the data plane
get their own turn in every round.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections import deque
from collections.abc import Callable

from greenlet import getcurrent

from signalbox.common.long_work import LongWork

_SLICES_PER_MIDDLE_COLLECTION = 6

log = logging.getLogger("signalbox.transport")


class LongLane:
    """One in an event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, slice_us: int = 100) -> None:
        self._loop = loop
        self._slice = slice_us / 1_000_000
        self.slices = 0
        self._waiting: deque[LongWork] = deque()

    @property
    def waiting(self) -> int:
        """Pieces of work that are under way."""
        return len(self._waiting)

    def run(self, work: Callable[[], None], again: bool = False) -> None:
        """Begin at once, or in the next round when other long work asks; `again`: it goes on with what had a slice
        before. An error of `work` is logged: whoever has something to answer catches it inside."""
        task = LongWork(work)
        task.slices = int(again)
        here = getcurrent()
        if type(here) is LongWork:
            # It gives way to the loop, not to its beginner.
            task.parent = here.parent  # type: ignore[assignment]
        elif self._go_on(task):
            return
        self._waiting.append(task)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._next)

    def _next(self) -> None:
        task = self._waiting[0]
        over = self._go_on(task)
        self._waiting.popleft()
        if not over:
            self._waiting.append(task)
        if self._waiting:
            self._loop.call_soon(self._next)

    def _go_on(self, task: LongWork) -> bool:
        """One slice; whether that was the last."""
        began = time.monotonic()
        if task.left_at:
            task.away_s += began - task.left_at
        task.deadline = began + self._slice
        task.slices += 1
        self.slices += 1
        try:
            task.switch()
        except Exception:
            log.exception("long work failed")
        task.left_at = time.monotonic()
        # A piece of work that frees as much as it makes never reaches the collector's threshold, while what is young
        # becomes many thousands: then one collection would hold the loop for milliseconds.
        gc.collect(1 if not self.slices % _SLICES_PER_MIDDLE_COLLECTION else 0)
        return bool(task.dead)
