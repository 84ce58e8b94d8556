"""When the interpreter looks for garbage in cycles: among young objects as usual, among all when it holds nobody up.

A full collection looks at every object that lives: with 5,000 partitions that takes a hundred milliseconds and more. So
what has outlived two young collections is frozen every second, and frozen objects are looked at in a long idle time
alone, or as soon as memory has grown by half and 32 MiB: a pause now and then is better than a broker that grows under
load. They are freed as ever when nobody refers to them; only cycles wait.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from pathlib import Path

from signalbox.metadata.image import MetadataImage

_YOUNG, _MIDDLE, _NEVER = 700, 5, 1_000_000  # the middle generation: 3,500 objects, some 200 us
PAGE_BYTES = 4_096
_LOOK_EVERY_S = 1.0
_EVERYTHING_AFTER = 30  # idle looks in a row
_GROWN_TIMES, _GROWN_BYTES = 1.5, 33_554_432  # resident memory, since everything was looked at


class Garbage:
    """For the process of one broker. `work_done` is a number that moves while there is something to do."""

    def __init__(self, work_done: Callable[[], int]) -> None:
        self._work_done = work_done
        self._last_work = -1
        self._idle_looks = 0
        self._resident_at_best = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """What start-up made lives as long as the process."""
        self._collect_everything()
        gc.set_threshold(_YOUNG, _MIDDLE, _NEVER)
        self._task = asyncio.get_running_loop().create_task(self._look_often())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def image_replaced(self, old: MetadataImage, new: MetadataImage, changed_topics: set[str]) -> None:
        """A new image has come to stay."""
        gc.freeze()

    def look(self) -> None:
        """Freeze what has grown old, or collect everything if this is the moment."""
        work = self._work_done()
        idle, self._last_work = work == self._last_work, work
        self._idle_looks = self._idle_looks + 1 if idle else 0
        grown = _resident_bytes() > self._resident_at_best * _GROWN_TIMES + _GROWN_BYTES
        if grown or self._idle_looks == _EVERYTHING_AFTER:
            gc.unfreeze()
            self._collect_everything()
        else:
            gc.collect(1)  # or what is garbage already would be frozen with the rest
            gc.freeze()

    def _collect_everything(self) -> None:
        gc.collect()
        gc.freeze()
        self._resident_at_best = _resident_bytes()

    async def _look_often(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            self.look()


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES
