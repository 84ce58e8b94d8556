"""Answers that become known all at once and leave one by one.

When a group of two hundred has rebalanced, two hundred members are to be told: each answer is made and sent in a slice
of long work (`common/long_work.py`), so that nobody waits for all of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from signalbox.broker.api_request import ApiRequest, FinalAnswer
from signalbox.broker.error_responses import failure
from signalbox.broker.ports import LongLane
from signalbox.common.long_work import breathe
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.replication.pending import Pending

log = logging.getLogger(__name__)


class PacedAnswers:
    """In the order in which they became known. One in a broker."""

    def __init__(self, lane: LongLane) -> None:
        self._lane = lane
        self._known: deque[tuple[Pending[FinalAnswer], FinalAnswer]] = deque()
        self._under_way = False

    def of(self, request: ApiRequest, awaited: asyncio.Future[FinalAnswer]) -> Pending[FinalAnswer]:
        """The answer of `awaited`, when it is its turn; an error becomes the API's error response. One that is
        cancelled is never given: the broker stops."""
        pending: Pending[FinalAnswer] = Pending()

        def known(done: asyncio.Future[FinalAnswer]) -> None:
            if done.cancelled():
                return
            error = done.exception()
            if error is None:
                self._give(pending, done.result())
            elif isinstance(error, KafkaError):
                self._give(pending, failure(request, error.error, str(error)))
            else:
                log.error("%s failed", request.header.api_key, exc_info=error)
                self._give(pending, failure(request, Error.UNKNOWN_SERVER_ERROR))

        awaited.add_done_callback(known)
        return pending

    def _give(self, pending: Pending[FinalAnswer], answer: FinalAnswer) -> None:
        self._known.append((pending, answer))
        if not self._under_way:
            self._under_way = True
            self._lane.run(self._run)

    def _run(self) -> None:
        try:
            while self._known:
                pending, answer = self._known.popleft()
                pending.complete(answer)
                breathe()
        finally:
            self._under_way = False
