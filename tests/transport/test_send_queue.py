from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signalbox.common.file_slice import FileSlice
from signalbox.transport.frame_channel import Chunk
from signalbox.transport.page_cache import PageCache
from signalbox.transport.send_queue import SendQueue, ShortFileError

CONTENT = bytes(range(256)) * 4096  # 1 MB
ALL_WARM = PageCache(asyncio.new_event_loop())
ALL_WARM._reports_residency = False
STAGING = memoryview(bytearray(327_680))


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "segment"
    path.write_bytes(CONTENT)
    descriptor = os.open(path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    yield ours, theirs
    ours.close()
    theirs.close()


def drain(queue: SendQueue, ours: socket.socket, theirs: socket.socket) -> bytes:
    """Flush to a slow reader until all bytes have arrived."""
    received = bytearray()
    flushed = 0
    while queue.size_bytes:
        flushed += queue.flush(ours)
        while True:
            try:
                received += theirs.recv(50_000)
            except BlockingIOError:
                break
    assert flushed == len(received)
    return bytes(received)


def put(queue: SendQueue, chunks: list[Chunk]) -> bytes:
    for chunk in chunks:
        queue.append(chunk, len(chunk))
    return b"".join(chunk.read() if isinstance(chunk, FileSlice) else bytes(chunk) for chunk in chunks)


@pytest.mark.parametrize(
    "sizes",
    [(10,), (4, 100), (4, 70_000, 9), (200_000, 200_000), (4, 1_000_000, 4), tuple([500] * 600)],
    ids=["one", "joined", "sendmsg", "large", "header, bulk, trailer", "many"],
)
def test_bytes_arrive_in_order(pair: tuple[socket.socket, socket.socket], sizes: tuple[int, ...]) -> None:
    queue = SendQueue(STAGING, ALL_WARM)
    expected = put(queue, [os.urandom(size) for size in sizes])
    assert drain(queue, *pair) == expected


@pytest.mark.parametrize("size", [0, 1, 32_768, 32_769, 262_144, 900_000])
def test_a_file_slice_between_header_and_trailer(
    pair: tuple[socket.socket, socket.socket], file: int, size: int
) -> None:
    queue = SendQueue(STAGING, ALL_WARM)
    expected = put(queue, [b"header", FileSlice(file, 1000, size), memoryview(b"trailer")])
    assert drain(queue, *pair) == expected


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    shape=st.lists(
        st.tuples(st.booleans(), st.integers(0, 1000), st.sampled_from((0, 1, 900, 66_000, 270_000))), max_size=8
    )
)
def test_any_mixture(pair: tuple[socket.socket, socket.socket], file: int, shape: list[tuple[bool, int, int]]) -> None:
    queue = SendQueue(STAGING, ALL_WARM)
    chunks: list[Chunk] = [
        FileSlice(file, start, size) if in_file else CONTENT[start : start + size] for in_file, start, size in shape
    ]
    expected = put(queue, chunks)
    assert drain(queue, *pair) == expected
    assert queue.size_bytes == 0


@pytest.mark.parametrize("size", [1000, 300_000])
def test_a_file_that_ends_too_early(pair: tuple[socket.socket, socket.socket], file: int, size: int) -> None:
    queue = SendQueue(STAGING, ALL_WARM)
    put_before = len(CONTENT) - size // 2
    queue.append(FileSlice(file, put_before, size), size)
    with pytest.raises(ShortFileError):
        drain(queue, *pair)


def test_a_closed_peer_is_an_error(pair: tuple[socket.socket, socket.socket]) -> None:
    queue = SendQueue(STAGING, ALL_WARM)
    queue.append(b"x", 1)
    pair[1].close()
    with pytest.raises(OSError):
        queue.flush(pair[0])


def test_the_slice_of_the_caller_is_not_changed(pair: tuple[socket.socket, socket.socket], file: int) -> None:
    piece = FileSlice(file, 0, 900_000)
    queue = SendQueue(STAGING, ALL_WARM)
    queue.append(piece, 900_000)
    queue.flush(pair[0])
    assert 0 < queue.size_bytes < 900_000
    assert (piece.position, piece.size) == (0, 900_000)


def test_take_gives_plaintext_piece_by_piece(file: int) -> None:
    queue = SendQueue(STAGING, ALL_WARM)
    expected = put(queue, [b"head", FileSlice(file, 0, 700_000), b"tail"])
    size_taken = []
    while queue.size_bytes:
        size_taken.append(queue.take(262_144))
    assert b"".join(size_taken) == expected
    assert max(map(len, size_taken)) < 2 * 262_144 + 10
    queue.append(FileSlice(file, len(CONTENT), 10), 10)
    with pytest.raises(ShortFileError):
        queue.take(100)
