"""The thread that serves the metrics page and the pages beside it.

The node's event loop has all connections of clients, replicas and the controller. A page of a loop that is busy would
come late or never, and a program that probes the node would take a busy one for a dead one. So the pages have a thread
and a loop of their own. What they show belongs to the node's loop, and is read there: metrics by its task scheduler, in
slices, the rest by `LoopReports`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from signalbox.server.metrics.health_pages import Health
from signalbox.server.metrics.loop_reports import LoopReports
from signalbox.server.metrics.metrics_page import MetricsPage

T = TypeVar("T")


class PageThread:
    """`start` and `stop` are called in the node's event loop."""

    def __init__(self, page: MetricsPage, health: Health) -> None:
        self._page = page
        self._health = health
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address of the metrics page; empty before it is bound."""
        return self._page.url

    async def start(self) -> int:
        """Returns the bound port. StartError names the key when the address cannot be bound."""
        node_loop = asyncio.get_running_loop()
        self._page.pages = self._health.pages(LoopReports(node_loop, self._health.report).latest)
        self._page.node_loop = node_loop
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, args=(self._loop,), name="pages", daemon=True)
        self._thread.start()
        return await self._run(self._loop, self._page.start())

    async def stop(self) -> None:
        """Also after a start that failed, and without one."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._loop = self._thread = None
        try:
            await self._run(loop, self._page.stop())
        finally:
            loop.call_soon_threadsafe(loop.stop)
            await asyncio.to_thread(thread.join)

    @staticmethod
    async def _run(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, which runs in the thread."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.close()
