"""When Python's garbage collector looks for cycles: among young objects as usual, among all objects only when the node
is idle or memory has grown.

A full collection visits every live object: with 5,000 partitions that takes a hundred milliseconds and more. So objects
that have survived two young collections are frozen every second. Frozen objects are visited only after a long idle
time, or as soon as there are half as many again as after the last full collection, without those of new partitions: an
occasional pause is better than a broker that grows under load. The size of the memory does not tell: buffers grow too,
and have no cycles. Reference counting still frees frozen objects as usual; only cycles wait.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable

from signalbox.metadata.image import MetadataImage

_YOUNG, _MIDDLE, _NEVER = 700, 5, 1_000_000  # the middle generation: 3,500 objects, about 200 us
_LOOK_EVERY_S = 1.0
_EVERYTHING_AFTER = 30  # idle checks in a row
_GROWN_TIMES = 1.5
_BLOCKS_PER_PARTITION = 150  # of a partition that this broker hosts, in all its tables


class Garbage:
    """For the process of one broker. `work_done` returns a number that changes while the node has work."""

    def __init__(self, work_done: Callable[[], int]) -> None:
        self._work_done = work_done
        self._last_work = -1
        self._idle_checks = 0
        self._expected_blocks = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Freeze the objects made by start-up: they live as long as the process. Then run `look` once per second."""
        self._collect_all()
        gc.set_threshold(_YOUNG, _MIDDLE, _NEVER)
        self._task = asyncio.get_running_loop().create_task(self._look_often())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def image_replaced(self, old: MetadataImage, new: MetadataImage, changed_topics: set[str]) -> None:
        """Freeze a new image: it will live long."""
        added = sum(_partitions(new, topic) - _partitions(old, topic) for topic in changed_topics)
        self._expected_blocks += added * _BLOCKS_PER_PARTITION
        gc.freeze()

    def check(self) -> None:
        """Freeze the objects that have grown old, or run a full collection if it is time for one."""
        work = self._work_done()
        idle, self._last_work = work == self._last_work, work
        self._idle_checks = self._idle_checks + 1 if idle else 0
        if self._has_grown() or self._idle_checks == _EVERYTHING_AFTER:
            gc.unfreeze()
            self._collect_all()
        else:
            gc.collect(1)  # otherwise present garbage would be frozen too
            gc.freeze()

    def _has_grown(self) -> bool:
        return _blocks() > self._expected_blocks * _GROWN_TIMES

    def _collect_all(self) -> None:
        gc.collect()
        gc.freeze()
        self._expected_blocks = _blocks()

    async def _look_often(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            self.check()


def _blocks() -> int:
    """The number of small blocks of memory in use. It takes 50 us per 100 MiB; the frozen objects would have to be
    counted one by one."""
    return sys.getallocatedblocks()


def _partitions(image: MetadataImage, topic: str) -> int:
    found = image.topics.get(topic)
    return len(found.partitions) if found is not None else 0
