"""Paces responses that become complete at the same time.

When a group of two hundred members has rebalanced, two hundred responses are complete at once. Each is encoded and sent
in a slice of a cooperative task (`common/cooperative_task.py`), so that other requests do not wait for all of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from signalbox.broker.api_request import ApiRequest, FinalAnswer
from signalbox.broker.error_responses import failure
from signalbox.broker.ports import TaskScheduler
from signalbox.common.cooperative_task import yield_if_due
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.promise import Promise

log = logging.getLogger(__name__)


class ResponsePacer:
    """Sends responses in the order in which they became complete. One per broker."""

    def __init__(self, scheduler: TaskScheduler) -> None:
        self._scheduler = scheduler
        self._known: deque[tuple[Promise[FinalAnswer], FinalAnswer]] = deque()
        self._under_way = False

    def of(self, request: ApiRequest, awaited: asyncio.Future[FinalAnswer]) -> Promise[FinalAnswer]:
        """Promise of the response of `awaited`, completed in turn; an error becomes the API's error response. If
        `awaited` is cancelled, the promise is never completed: the broker stops."""
        pending: Promise[FinalAnswer] = Promise()

        def known(done: asyncio.Future[FinalAnswer]) -> None:
            if done.cancelled():
                return
            error = done.exception()
            if error is None:
                self._give(pending, done.result())
            elif isinstance(error, KafkaError):
                self._give(pending, failure(request, error.error, str(error)))
            else:
                log.error("Unexpected error handling request (api key=%d)", request.header.api_key, exc_info=error)
                self._give(pending, failure(request, Error.UNKNOWN_SERVER_ERROR))

        awaited.add_done_callback(known)
        return pending

    def _give(self, pending: Promise[FinalAnswer], answer: FinalAnswer) -> None:
        self._known.append((pending, answer))
        if not self._under_way:
            self._under_way = True
            self._scheduler.run(self._run)

    def _run(self) -> None:
        try:
            while self._known:
                pending, answer = self._known.popleft()
                pending.complete(answer)
                yield_if_due()
        finally:
            self._under_way = False
