"""Responses in slices: those that become complete at the same time, and a large one that a handler has awaited.

When a group of two hundred members has rebalanced, two hundred responses are complete at once. Each is encoded and sent
in a slice of a cooperative task (`common/cooperative_task.py`), so that other requests do not wait for all of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from signalbox.broker.api_request import ApiRequest, FinalResponse
from signalbox.broker.error_responses import failure
from signalbox.common.cooperative_task import yield_if_due
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.waiting.promise import Promise
from signalbox.transport.task_scheduler import TaskScheduler

log = logging.getLogger(__name__)


class ResponsePacer:
    """Sends responses in the order in which they became complete. One per broker."""

    def __init__(self, scheduler: TaskScheduler) -> None:
        self._scheduler = scheduler
        self._completed: deque[tuple[Promise[FinalResponse], FinalResponse]] = deque()
        self._under_way = False

    def of(self, request: ApiRequest, awaited: asyncio.Future[FinalResponse]) -> Promise[FinalResponse]:
        """Promise of the response of `awaited`, completed in turn; an error becomes the API's error response. If
        `awaited` is cancelled, the promise is never completed: the broker stops."""
        promise: Promise[FinalResponse] = Promise()

        def on_done(done: asyncio.Future[FinalResponse]) -> None:
            if done.cancelled():
                return
            error = done.exception()
            if error is None:
                self._enqueue(promise, done.result())
            elif isinstance(error, KafkaError):
                self._enqueue(promise, failure(request, error.error, str(error)))
            else:
                log.error("Unexpected error handling request (api key=%d)", request.header.api_key, exc_info=error)
                self._enqueue(promise, failure(request, Error.UNKNOWN_SERVER_ERROR))

        awaited.add_done_callback(on_done)
        return promise

    def _enqueue(self, promise: Promise[FinalResponse], response: FinalResponse) -> None:
        self._completed.append((promise, response))
        if not self._under_way:
            self._under_way = True
            self._scheduler.run(self._run)

    def _run(self) -> None:
        try:
            while self._completed:
                promise, response = self._completed.popleft()
                promise.complete(response)
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
