"""A slice that is not in memory is read by a thread; neither the loop nor other connections wait for it."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

from signalbox.common.file_slice import FileSlice
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.page_cache import PageCache
from tests.transport.loopback import data_channel, read_frame

CONTENT = os.urandom(1 << 20)


@pytest.fixture
def file() -> Iterator[int]:
    """On a disk: `tmp_path` may be in memory, which has no cold pages."""
    with tempfile.TemporaryFile(dir="/var/tmp") as made:
        made.write(CONTENT)
        made.flush()
        os.fsync(made.fileno())
        yield made.fileno()


def evict(page_cache: PageCache, piece: FileSlice) -> None:
    """Returns when the piece is reported as not in memory; at once on a file system that has no cold pages. A check
    begins to read a missing page, and on a quick disk it (5 of 100 times) or the next check may find the page: so each
    check follows an eviction."""
    evict_once(piece.fd)
    while page_cache.is_resident(piece) and page_cache._reports_residency:
        evict_once(piece.fd)


def evict_once(descriptor: int) -> None:
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def test_a_slice_is_resident_evicted_and_prefetched(file: int) -> None:
    async def main() -> None:
        page_cache, piece = PageCache(asyncio.get_running_loop()), FileSlice(file, 4096, 500_000)
        os.pread(file, len(CONTENT), 0)
        assert page_cache.is_resident(piece)
        evict(page_cache, piece)
        done = asyncio.Event()
        page_cache.prefetch(piece, done.set)
        await done.wait()
        assert page_cache.is_resident(piece)
        page_cache.close()

    asyncio.run(main())


class NeverResident(PageCache):
    """Pages that are evicted again before each check."""

    def is_resident(self, piece: FileSlice) -> bool:
        return False


@pytest.mark.spec("C5")
@pytest.mark.parametrize("size", [10_000, 30_000, 900_000])
@pytest.mark.parametrize("gone_again", [False, True])
def test_a_slice_outside_the_page_cache_is_sent_completely(file: int, size: int, gone_again: bool) -> None:
    async def main() -> None:
        async with data_channel() as (loop, owner, client):
            cold = _watched(loop, owner.channel, gone_again)
            os.pread(file, len(CONTENT), 0)
            evict_once(file)
            head, tail = b"head", b"tail"
            piece = FileSlice(file, 77, size)
            owner.channel.send_frame([head, piece, tail])
            total = (8 + size).to_bytes(4)
            owner.channel.send_slice(total + head, FileSlice(file, 77, size), tail)
            for _ in range(2):
                assert await read_frame(client) == head + CONTENT[77 : 77 + size] + tail
            if gone_again:
                assert cold.reads >= 2

    asyncio.run(main())


def _watched(loop: DataLoop, channel: Any, gone_again: bool) -> PageCache:
    if gone_again:
        loop.page_cache = channel._queue._page_cache = NeverResident(loop.asyncio_loop)
    return loop.page_cache
