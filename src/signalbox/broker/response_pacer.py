"""Responses in slices: those that become complete at the same time, and a large one that a handler has awaited.

When a group of two hundred members has rebalanced, two hundred responses are complete at once. Each is encoded and sent
in a slice of a cooperative task (`common/cooperative_task.py`), so that other requests do not wait for all of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.waiting.promise import Promise
from signalbox.transport.task_scheduler import TaskScheduler


class ResponsePacer:
    """Completes promises in the order in which their responses became complete. One per broker."""

    def __init__(self, scheduler: TaskScheduler) -> None:
        self._scheduler = scheduler
        self._completed: deque[tuple[Promise[Any], Promise[Any]]] = deque()
        self._under_way = False

    def of(self, response: Promise[Any]) -> Promise[Any]:
        """Promise with the result of `response`, completed in turn: never in the stack of the coordinator, which may
        be in the middle of a rebalance."""
        paced: Promise[Any] = Promise()
        response.when_done(lambda: self._enqueue(paced, response))
        return paced

    def _enqueue(self, paced: Promise[Any], response: Promise[Any]) -> None:
        self._completed.append((paced, response))
        if not self._under_way:
            self._under_way = True
            asyncio.get_running_loop().call_soon(self._scheduler.run, self._run)

    def _run(self) -> None:
        try:
            while self._completed:
                paced, response = self._completed.popleft()
                if response.error is None:
                    paced.complete(response.result())
                else:
                    paced.fail(response.error)
                yield_if_due()
        finally:
            self._under_way = False


def in_slices(scheduler: TaskScheduler, work: Callable[[], Any]) -> asyncio.Future[Any]:
    """Future of the result of `work`, which yields (`common/cooperative_task.py`), or of its exception."""
    done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def run() -> None:
        result, failure = None, None
        try:
            result = work()
        except Exception as error:
            failure = error
        if done.done():
            return  # the broker stops
        if failure is None:
            done.set_result(result)
        else:
            done.set_exception(failure)

    scheduler.run(run, again=True)
    return done
