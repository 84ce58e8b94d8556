"""Queue of control requests: the next one begins when the last one is complete.

A LeaderAndIsr for a hundred new partitions creates hundreds of files: it runs as a cooperative task
(`common/cooperative_task.py`), and other requests are served between its slices. A control request that arrives
meanwhile, for example from a new controller, waits until it is complete (Kafka holds `replicaStateChangeLock` for that
time).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from signalbox.common.waiting.promise import Promise
from signalbox.transport.task_scheduler import TaskScheduler

log = logging.getLogger(__name__)


class ControlRequestQueue:
    """One per broker."""

    def __init__(self, scheduler: TaskScheduler) -> None:
        self._scheduler = scheduler
        self._waiting: deque[tuple[Callable[[], Any], Promise[Any]]] = deque()
        self._under_way = False

    def take(self, work: Callable[[], Any]) -> Promise[Any]:
        """Promise of the result of `work`, which may call yield_if_due() and must not raise. If the queue is empty and
        `work` does not yield, the promise is complete on return."""
        pending: Promise[Any] = Promise()
        self._waiting.append((work, pending))
        if not self._under_way:
            self._under_way = True
            self._scheduler.run(self._run)
        return pending

    def _run(self) -> None:
        while self._waiting:
            work, pending = self._waiting.popleft()
            try:
                pending.complete(work())
            except Exception:
                log.exception("Handler of a control request failed: the request gets no response")
        self._under_way = False
