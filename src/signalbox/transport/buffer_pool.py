"""Receive buffers for frames that arrive in pieces, recycled because first touch of memory is the dearest part.

Idle connections own no buffer: they share one per loop. A buffer is taken here only while a frame is incomplete, and
while the request inside it is unanswered. Large buffers are anonymous maps, so a peer that announces 100 MB and sends
nothing costs address space, not memory. What was not needed between two calls of `trim` is given back to the system.
"""

from __future__ import annotations

import mmap

from signalbox.common.limits import MAX_IDLE_POOL_BYTES

_SMALLEST = 4_096
_MAP_FROM = 65_536
_MAP_STEP = 262_144


class PooledBuffer:
    """A piece of writable memory of at least the size asked for."""

    __slots__ = ("capacity", "view")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        if capacity > _MAP_FROM:
            self.view = memoryview(mmap.mmap(-1, capacity, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
        else:
            self.view = memoryview(bytearray(capacity))


def _capacity_for(size_bytes: int) -> int:
    if size_bytes > _MAP_FROM:
        return -(-size_bytes // _MAP_STEP) * _MAP_STEP
    return max(_SMALLEST, 1 << (size_bytes - 1).bit_length())


class BufferPool:
    """Free buffers by capacity. Not for several threads."""

    def __init__(self, max_idle_bytes: int = MAX_IDLE_POOL_BYTES) -> None:
        self._max_idle_bytes = max_idle_bytes
        self._free: dict[int, list[PooledBuffer]] = {}
        self._least_free: dict[int, int] = {}
        self.idle_bytes = 0
        self.used_bytes = 0

    def take(self, size_bytes: int) -> PooledBuffer:
        """A buffer that holds `size_bytes`; its content is whatever was there before."""
        capacity = _capacity_for(size_bytes)
        self.used_bytes += capacity
        free = self._free.get(capacity)
        if free:
            buffer = free.pop()
            self.idle_bytes -= capacity
            if len(free) < self._least_free[capacity]:
                self._least_free[capacity] = len(free)
            return buffer
        self._least_free[capacity] = 0
        return PooledBuffer(capacity)

    def release(self, buffer: PooledBuffer) -> None:
        """Give `buffer` back. Nobody may read it any more."""
        capacity = buffer.capacity
        self.used_bytes -= capacity
        if self.idle_bytes + capacity <= self._max_idle_bytes:
            self._free.setdefault(capacity, []).append(buffer)
            self._least_free.setdefault(capacity, 0)
            self.idle_bytes += capacity

    def trim(self) -> None:
        """Drop the buffers that lay idle ever since the last trim."""
        for capacity, free in self._free.items():
            unneeded = self._least_free[capacity]
            if unneeded:
                del free[:unneeded]
                self.idle_bytes -= unneeded * capacity
            self._least_free[capacity] = len(free)
