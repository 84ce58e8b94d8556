"""Lines of a file, a pipe or a terminal, as they arrive, without a thread: Ctrl-C ends a wait at once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from typing import BinaryIO

_CHUNK_BYTES = 65_536


async def lines_of(stream: BinaryIO) -> AsyncGenerator[bytes, None]:
    """Each line without its end (`\\n`); the last one also if it has none."""
    rest = b""
    async for chunk in _chunks(stream):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line
    if rest:
        yield rest


async def _chunks(stream: BinaryIO) -> AsyncGenerator[bytes, None]:
    try:
        descriptor = stream.fileno()
    except OSError:  # a stream in memory
        descriptor = None
    while True:
        if descriptor is None:
            chunk = stream.read(_CHUNK_BYTES)
        else:
            await _readable(descriptor)
            chunk = os.read(descriptor, _CHUNK_BYTES)
        if not chunk:
            return
        yield chunk


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # epoll does not take regular files, which are always readable
        return
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)
