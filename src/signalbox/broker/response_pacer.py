"""Paces responses that become complete at the same time.

When a group of two hundred members has rebalanced, two hundred responses are complete at once. They are encoded and
sent by one cooperative task (`TaskQueue`), so that other requests do not wait for all of them.
"""

from __future__ import annotations

import asyncio
import logging

from signalbox.broker.api_request import ApiRequest, FinalResponse
from signalbox.broker.error_responses import failure
from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.scheduling.task_scheduler import TaskQueue, TaskScheduler
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.waiting.promise import Promise

log = logging.getLogger(__name__)


class ResponsePacer:
    """Sends responses in the order in which they became complete. One per broker."""

    def __init__(self, scheduler: TaskScheduler) -> None:
        self._completed = TaskQueue(scheduler)

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
        def complete() -> None:
            promise.complete(response)
            yield_if_due()

        self._completed.add(complete)
