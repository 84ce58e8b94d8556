"""Receive buffers for frames that arrive in pieces. They are reused, because the first write to new memory is the most
expensive step.

Idle connections own no buffer: they share one per loop. A connection takes a buffer from the pool only while a frame is
incomplete, and until the request inside it is answered. Large buffers are anonymous maps, so a peer that announces 100
MB and sends nothing costs address space, not memory. `trim` frees the buffers that were not needed since the previous
`trim`.
"""

from __future__ import annotations

import mmap

from signalbox.common.limits import MAX_IDLE_POOL_BYTES

_SMALLEST = 4_096
_MAP_FROM = 65_536
_MAP_STEP = 262_144


class PooledBuffer:
    """Writable memory of at least the requested size."""

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
    """Free buffers by capacity. Not thread-safe."""

    def __init__(self, max_idle_bytes: int = MAX_IDLE_POOL_BYTES) -> None:
        self._max_idle_bytes = max_idle_bytes
        self._free: dict[int, list[PooledBuffer]] = {}
        self._least_free: dict[int, int] = {}
        self.idle_bytes = 0
        self.used_bytes = 0

    def acquire(self, size_bytes: int) -> PooledBuffer:
        """A buffer that holds `size_bytes`; it still has its old content."""
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
        """Return `buffer` to the pool. No code may read it any more."""
        capacity = buffer.capacity
        self.used_bytes -= capacity
        if self.idle_bytes + capacity <= self._max_idle_bytes:
            self._free.setdefault(capacity, []).append(buffer)
            self._least_free.setdefault(capacity, 0)
            self.idle_bytes += capacity

    def trim(self) -> None:
        """Free the buffers that were idle since the last trim."""
        for capacity, free in self._free.items():
            unneeded = self._least_free[capacity]
            if unneeded:
                del free[:unneeded]
                self.idle_bytes -= unneeded * capacity
            self._least_free[capacity] = len(free)
