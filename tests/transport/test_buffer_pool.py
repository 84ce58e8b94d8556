from __future__ import annotations

import pytest

from signalbox.transport.buffer_pool import BufferPool


@pytest.mark.parametrize("size", [0, 1, 4096, 4097, 65_536, 65_537, 1_048_700, 5_000_000])
def test_a_buffer_has_the_requested_size_and_can_be_written(size: int) -> None:
    buffer = BufferPool().acquire(size)
    assert len(buffer.view) == buffer.capacity >= size
    buffer.view[size - 1 : size] = b"x" if size else b""
    assert not buffer.view.readonly


def test_a_released_buffer_is_used_again() -> None:
    pool = BufferPool()
    first = pool.acquire(1_048_700)
    assert pool.used_bytes == first.capacity
    pool.release(first)
    assert (pool.used_bytes, pool.idle_bytes) == (0, first.capacity)
    assert pool.acquire(1_048_600) is first


def test_a_giant_announcement_touches_no_memory() -> None:
    def resident_kilobytes() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4

    pool = BufferPool()
    before = resident_kilobytes()
    held = [pool.acquire(100_000_000) for _ in range(20)]
    assert resident_kilobytes() - before < 20_000
    assert len(held) == 20


def test_the_pool_keeps_a_bounded_amount() -> None:
    pool = BufferPool(max_idle_bytes=10_000)
    buffers = [pool.acquire(4096) for _ in range(5)]
    for buffer in buffers:
        pool.release(buffer)
    assert pool.idle_bytes == 8192


def test_trim_releases_buffers_unused_since_the_last_trim() -> None:
    pool = BufferPool()
    buffers = [pool.acquire(4096) for _ in range(4)]
    for buffer in buffers:
        pool.release(buffer)
    pool.trim()
    assert pool.idle_bytes == 4 * 4096
    pool.release(pool.acquire(4096))
    pool.trim()
    assert pool.idle_bytes == 4096
    pool.trim()
    assert pool.idle_bytes == 0
