"""Reports of a node's event loop for another thread, which must not wait for a loop that is busy.

A question is a callback in the node's loop; one at a time is open. The reader waits for its response for a moment, and
then takes the last report: with the time for which the oldest question has had no response.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from signalbox.server.metrics.health_pages import NodeReport

logger = logging.getLogger(__name__)

WAIT_S = 0.5  # a program that probes a node waits for a second or more


class LoopReports:
    """Used in one reader's loop. `report` is called in the node's loop, `node_loop`."""

    def __init__(self, node_loop: asyncio.AbstractEventLoop, report: Callable[[], NodeReport]) -> None:
        self._node_loop = node_loop
        self._report = report
        self._last = NodeReport()
        self._question: asyncio.Future[NodeReport] | None = None
        self._asked_at_s = 0.0

    async def latest(self) -> NodeReport:
        """A report of now; after `WAIT_S` the last one, with `silent_s`."""
        loop = asyncio.get_running_loop()
        if self._question is None:
            self._question, self._asked_at_s = loop.create_future(), loop.time()
            self._node_loop.call_soon_threadsafe(self._respond, self._question)
        try:
            async with asyncio.timeout(WAIT_S):
                return await asyncio.shield(self._question)
        except TimeoutError:
            return self._last._replace(silent_s=loop.time() - self._asked_at_s)

    def _respond(self, question: asyncio.Future[NodeReport]) -> None:
        """In the node's loop."""
        try:
            report = self._report()
        except Exception as error:  # it must be settled: else the loop seems to be silent from now on
            logger.exception("The state of the node cannot be reported")
            report = self._last._replace(reasons=(f"the state of the node cannot be reported: {error}",))
        try:
            question.get_loop().call_soon_threadsafe(self._settle, question, report)
        except RuntimeError:  # the reader's loop is closed: the node stops
            return

    def _settle(self, question: asyncio.Future[NodeReport], report: NodeReport) -> None:
        self._last, self._question = report, None
        question.set_result(report)
