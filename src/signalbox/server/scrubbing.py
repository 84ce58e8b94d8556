"""Runs the scrub in a node: pieces are read in the background and checked as a cooperative task, at a limited rate."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from signalbox.common.config.config_table import Value
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.storage.validation.log_scrub import LogScrub, Piece

_log = logging.getLogger(__name__)

RATE_KEY = "signalbox.log.scrub.bytes.per.second"
INTERVAL_KEY = "signalbox.log.scrub.interval.ms"
_FIRST_PAUSE_S = 30.0  # a node that starts has other work


class Scrubbing:
    """`run` never ends by itself. `values` returns the broker's current configs."""

    def __init__(
        self,
        scrub: LogScrub,
        values: Callable[[], Mapping[str, Value]],
        scheduler: TaskScheduler,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._scrub = scrub
        self._values = values
        self._scheduler = scheduler
        self._pause = pause

    async def run(self) -> None:
        """Runs pass after pass; a pass begins at least one interval after the begin of the previous one."""
        loop = asyncio.get_running_loop()
        await self._pause(min(_FIRST_PAUSE_S, self._interval_s()))
        while True:
            began = loop.time()
            try:
                await self._one_pass()
            except Exception:
                _log.exception("Log scrub failed; the next pass begins at its interval")
            await self._pause(max(1.0, began + self._interval_s() - loop.time()))

    async def _one_pass(self) -> None:
        if not self._number(RATE_KEY):
            return
        self._scrub.begin()
        while (piece := self._scrub.next_piece()) is not None:
            try:
                data = await self._read(piece)
            except OSError as error:
                self._scrub.skip_log(error)
                continue
            await self._check(data)
            await self._pause(len(data) / max(1, self._number(RATE_KEY)))

    async def _read(self, piece: Piece) -> bytes:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[bytes] = loop.create_future()
        chunks: list[bytes] = []

        def done(error: BaseException | None) -> None:
            if not ended.done():
                ended.set_result(chunks[0]) if error is None else ended.set_exception(error)

        piece.background.run(lambda: chunks.append(piece.bytes.read()), done)
        return await ended

    async def _check(self, data: bytes) -> None:
        await self._scheduler.result_of(partial(self._scrub.check_piece, data))

    def _interval_s(self) -> float:
        # The event loop's clock cannot represent Kafka's "never" (2^63 ms).
        return min(self._number(INTERVAL_KEY) / 1000, 10 * 86_400.0)

    def _number(self, key: str) -> int:
        value = self._values()[key]
        assert isinstance(value, int)
        return value
