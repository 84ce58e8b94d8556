"""Runs the log cleaner in a broker: rounds one after the other, each with its worker, as many at a time as
`log.cleaner.threads`. The configuration is read before each round."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from signalbox.common.config.config_table import Value
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.storage.cleaner.log_cleaner import LogCleaner
from signalbox.storage.cleaner.log_cleaning import Work
from signalbox.storage.cleaner.log_to_clean import LogToClean
from signalbox.storage.cleaner.worker_port import CleaningWorker, WorkerLimits
from signalbox.storage.files.background import Background, ThreadBackground

_log = logging.getLogger(__name__)

ENABLE_KEY = "log.cleaner.enable"
THREADS_KEY = "log.cleaner.threads"
MAP_KEY = "log.cleaner.dedupe.buffer.size"
LOAD_FACTOR_KEY = "log.cleaner.io.buffer.load.factor"
IO_BUFFER_KEY = "log.cleaner.io.buffer.size"
RATE_KEY = "log.cleaner.io.max.bytes.per.second"
BACKOFF_KEY = "log.cleaner.backoff.ms"
_SMALLEST_IO_BUFFER_BYTES = 4_096
_LONGEST_PAUSE_S = 86_400.0  # the event loop's clock cannot represent Kafka's "never"
_SHORTEST_PAUSE_S = 0.01
_CHECK_S = 1.0
_LONGEST_STOP_S = 10.0


class Cleaning:
    """`values` returns the broker's current configs, `new_worker` a worker that has not begun yet."""

    def __init__(
        self,
        cleaner: LogCleaner,
        values: Callable[[], Mapping[str, Value]],
        scheduler: TaskScheduler,
        new_worker: Callable[[], CleaningWorker],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._cleaner = cleaner
        self._values = values
        self._scheduler = scheduler
        self._new_worker = new_worker
        self._pause = pause
        self._slots: list[_Slot] = []
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Starts the rounds, unless the cleaner is disabled."""
        if self._values()[ENABLE_KEY]:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """Ends the rounds where they are, and the workers. Also without a start."""
        self._cleaner.stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for slot in self._slots:
            slot.worker.kill()  # the call that is running ends
        running = [slot.task for slot in self._slots if slot.task is not None]
        if running:
            await asyncio.wait(running, timeout=_LONGEST_STOP_S)
        for slot in self._slots:
            if slot.task is None or slot.task.done():
                slot.background.close()
            else:
                _log.warning("Log cleaner does not end, its disk does not respond: the broker stops without it")

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._cleaner.end_backoff()
            threads = self._number(THREADS_KEY)
            while len(self._slots) < threads:
                background = ThreadBackground(loop.call_soon_threadsafe, f"log-cleaner-{len(self._slots)}")
                self._slots.append(_Slot(self._new_worker(), background))
            for slot in self._slots[: int(threads)]:
                if slot.task is None or slot.task.done():
                    slot.task = loop.create_task(self._clean_all(slot))
            await self._pause(max(_SHORTEST_PAUSE_S, min(self._number(BACKOFF_KEY) / 1000, _LONGEST_PAUSE_S)))

    async def _clean_all(self, slot: _Slot) -> None:
        """Cleans logs until none is due; then the worker ends, and its memory is free."""
        try:
            while (target := await self._scheduler.result_of(self._cleaner.next_log)) is not None:
                await self._clean(slot, target)
        except Exception:
            _log.exception("Log cleaner failed; it continues after its backoff")
        await slot.result_of(slot.worker.close)

    async def _clean(self, slot: _Slot, target: LogToClean) -> None:
        """One round. Each of its steps runs as a cooperative task."""
        cleaning = self._cleaner.clean(target, slot.worker, self._limits())
        work = await self._step(partial(next, cleaning))
        while work is not None:
            try:
                result = await self._result(slot, target, work)
            except Exception as error:
                work = await self._step(partial(cleaning.throw, error))
            else:
                work = await self._step(partial(cleaning.send, result))

    async def _result(self, slot: _Slot, target: LogToClean, work: Work) -> Any:
        """Runs `work` in the thread of the slot. It ends early when the log may not be cleaned any more: a call for a
        large segment takes minutes."""
        result = asyncio.ensure_future(slot.result_of(work))
        while not (await asyncio.wait((result,), timeout=_CHECK_S))[0]:
            if not self._cleaner.is_valid(target):
                slot.worker.kill()
        return result.result()

    async def _step(self, step: Callable[[], Work]) -> Work | None:
        def run() -> Work | None:
            try:
                return step()
            except StopIteration:  # a future cannot have this exception
                return None

        return await self._scheduler.result_of(run)

    def _limits(self) -> WorkerLimits:
        """The share of one worker."""
        threads = max(1, self._number(THREADS_KEY))
        return WorkerLimits(
            map_bytes=int(self._number(MAP_KEY) * self._number(LOAD_FACTOR_KEY) / threads),
            io_buffer_bytes=max(_SMALLEST_IO_BUFFER_BYTES, int(self._number(IO_BUFFER_KEY) / threads / 2)),
            bytes_per_second=max(1.0, self._number(RATE_KEY) / threads),
        )

    def _number(self, key: str) -> float:
        value = self._values()[key]
        assert isinstance(value, int | float)
        return value


class _Slot:
    """A worker, the thread that waits for it, and the task that is cleaning with it."""

    def __init__(self, worker: CleaningWorker, background: Background) -> None:
        self.worker = worker
        self.background = background
        self.task: asyncio.Task[None] | None = None

    async def result_of(self, work: Work) -> Any:
        """Runs `work` in the thread."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Any] = loop.create_future()
        results: list[Any] = []

        def done(error: BaseException | None) -> None:
            if not ended.done():
                ended.set_result(results[0]) if error is None else ended.set_exception(error)

        self.background.run(lambda: results.append(work()), done)
        return await ended
