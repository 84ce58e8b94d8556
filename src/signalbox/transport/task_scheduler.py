"""The scheduler of cooperative tasks: the first slice runs at once, the others one per round of asyncio, task by task.

asyncio polls between two slices, so the control plane never waits longer than a slice; connections of the data plane
have their own iteration in every round.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections import deque
from collections.abc import Callable

from greenlet import getcurrent

from signalbox.common.cooperative_task import CooperativeTask

_SLICES_PER_MIDDLE_COLLECTION = 6

log = logging.getLogger("signalbox.transport")


class TaskScheduler:
    """One per event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, slice_us: int = 100) -> None:
        self._loop = loop
        self._slice = slice_us / 1_000_000
        self.slices = 0
        self._waiting: deque[CooperativeTask] = deque()

    @property
    def waiting(self) -> int:
        """Tasks that have begun and are not complete."""
        return len(self._waiting)

    def run(self, work: Callable[[], None], again: bool = False) -> None:
        """Begin at once, or in the next round if another cooperative task calls this. `again`: the work has had a
        slice before. An error of `work` is logged: work that owes a response must catch its errors itself."""
        task = CooperativeTask(work)
        task.slices = int(again)
        here = getcurrent()
        if type(here) is CooperativeTask:
            # It yields to the loop, not to the task that started it.
            task.parent = here.parent  # type: ignore[assignment]
        elif self._run_slice(task):
            return
        self._waiting.append(task)
        if len(self._waiting) == 1:
            self._loop.call_soon(self._next)

    def _next(self) -> None:
        task = self._waiting[0]
        is_complete = self._run_slice(task)
        self._waiting.popleft()
        if not is_complete:
            self._waiting.append(task)
        if self._waiting:
            self._loop.call_soon(self._next)

    def _run_slice(self, task: CooperativeTask) -> bool:
        """Run one slice; returns whether it was the last."""
        started = time.monotonic()
        if task.left_at:
            task.away_s += started - task.left_at
        task.deadline = started + self._slice
        task.slices += 1
        self.slices += 1
        try:
            task.switch()
        except Exception:
            log.exception("Unexpected error in a cooperative task")
        task.left_at = time.monotonic()
        # A task that frees as many objects as it creates never reaches the collector's threshold, while the young
        # generations grow by many thousands: then one collection would block the loop for milliseconds.
        gc.collect(1 if not self.slices % _SLICES_PER_MIDDLE_COLLECTION else 0)
        return bool(task.dead)
