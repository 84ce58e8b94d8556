"""Reads again after a change: at once, once for several notifications, and with retries until the store responds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from signalbox.metadata.store.port import StoreError

log = logging.getLogger(__name__)

_RETRY_S = 1.0


class Rereading:
    """Calls `read()`, which reads `what`; after a StoreError again a second later. `notify` is for a store watch."""

    def __init__(self, what: str, read: Callable[[], Awaitable[None]]) -> None:
        self._what = what
        self._read = read
        self._running: asyncio.Task[None] | None = None
        self._read_needed = False

    def notify(self) -> None:
        """Read, because something has changed. A call during a read causes one more read."""
        self._read_needed = True
        if self._running is None or self._running.done():
            self._running = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Stop reading."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        while self._read_needed:
            self._read_needed = False
            try:
                await self._read()
            except StoreError as error:
                log.warning("Metadata could not be read and is read again (%s): %s", self._what, error)
                self._read_needed = True
                await asyncio.sleep(_RETRY_S)
