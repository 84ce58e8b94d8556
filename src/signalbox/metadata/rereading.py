"""Reading again when something has changed: at once, once for any number of news, and until the store answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from signalbox.metadata.store.port import StoreError

log = logging.getLogger(__name__)

_RETRY_S = 1.0


class Rereading:
    """`read()` looks at `what`, again a second after a StoreError. `notify` is for a watch of the store."""

    def __init__(self, what: str, read: Callable[[], Awaitable[None]]) -> None:
        self._what = what
        self._read = read
        self._running: asyncio.Task[None] | None = None
        self._news = False

    def notify(self) -> None:
        """There is news. What comes while a reading is under way has it read once more."""
        self._news = True
        if self._running is None or self._running.done():
            self._running = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Read no more."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        while self._news:
            self._news = False
            try:
                await self._read()
            except StoreError as error:
                log.warning("%s could not be read, trying again: %s", self._what, error)
                self._news = True
                await asyncio.sleep(_RETRY_S)
