"""A slice that is not in memory is read by a thread; neither the loop nor other connections wait for it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signalbox.common.file_slice import FileSlice
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.page_cache import PageCache
from tests.transport.loopback import data_channel, read_frame

CONTENT = os.urandom(1 << 20)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "segment"
    path.write_bytes(CONTENT)
    descriptor = os.open(path, os.O_RDWR)
    os.fsync(descriptor)
    yield descriptor
    os.close(descriptor)


def throw_out(descriptor: int) -> None:
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def test_warm_cold_and_warm_again(file: int) -> None:
    async def main() -> None:
        cold, piece = PageCache(asyncio.get_running_loop()), FileSlice(file, 4096, 500_000)
        os.pread(file, len(CONTENT), 0)
        assert cold.is_resident(piece)
        throw_out(file)
        if cold._reports_residency:  # a file system in memory has no cold pages
            assert not cold.is_resident(piece)
        done = asyncio.Event()
        cold.prefetch(piece, done.set)
        await done.wait()
        assert cold.is_resident(piece)
        cold.close()

    asyncio.run(main())


class NeverWarm(PageCache):
    """Pages that are evicted again before each check."""

    def is_resident(self, piece: FileSlice) -> bool:
        return False


@pytest.mark.spec("C5")
@pytest.mark.parametrize("size", [10_000, 30_000, 900_000])
@pytest.mark.parametrize("gone_again", [False, True])
def test_a_cold_slice_arrives_whole(file: int, size: int, gone_again: bool) -> None:
    async def main() -> None:
        async with data_channel() as (loop, owner, client):
            cold = _watched(loop, owner.channel, gone_again)
            os.pread(file, len(CONTENT), 0)
            throw_out(file)
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
        loop.page_cache = channel._queue._page_cache = NeverWarm(loop.asyncio_loop)
    return loop.page_cache
