"""Chunks of batches of any size; what is corrupt is not passed over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signalbox.storage.cleaner.segment_batches import batch_chunks
from signalbox.storage.cleaner.worker_port import CleaningFault, SegmentSource
from signalbox.storage.files.file_system import RealFileSystem
from tests.storage.workbench import batch

pytestmark = pytest.mark.spec("D6")

BATCHES = [batch(1, offset=0), batch(50, offset=1), batch(2, offset=51), batch(1, size=5_000, offset=53)]


def read(path: Path, data: bytes, buffer_bytes: int, end: int | None = None) -> tuple[list[list[int]], list[int]]:
    path.write_bytes(data)
    fd, read_bytes = os.open(path, os.O_RDONLY), []  # type: ignore[var-annotated]
    try:
        source = SegmentSource(fd, 0, len(data) if end is None else end, 0, 0)
        chunks = [
            [header.base_offset for header, bytes_ in chunk if len(bytes_) == header.size_bytes]
            for chunk in batch_chunks(RealFileSystem(), source, buffer_bytes, read_bytes.append)
        ]
    finally:
        os.close(fd)
    return chunks, read_bytes


@pytest.mark.parametrize("buffer_bytes", [1, 61, 100, 1_000, 3_000, 100_000])
def test_each_batch_is_read_in_any_buffer(tmp_path: Path, buffer_bytes: int) -> None:
    chunks, read_bytes = read(tmp_path / "x", b"".join(BATCHES), buffer_bytes)
    assert [offset for chunk in chunks for offset in chunk] == [0, 1, 51, 53]
    assert max(read_bytes) <= max(buffer_bytes, max(map(len, BATCHES)))


def test_a_corrupt_length_does_not_make_the_cleaner_read_the_whole_file(tmp_path: Path) -> None:
    data = bytearray(BATCHES[0])
    data[8:12] = (150 << 20).to_bytes(4, "big")
    path = tmp_path / "x"
    path.write_bytes(data)
    os.truncate(path, 200 << 20)
    fd, read_bytes = os.open(path, os.O_RDONLY), list[int]()
    with pytest.raises(CleaningFault, match="position 0 is too large"):
        list(batch_chunks(RealFileSystem(), SegmentSource(fd, 0, 200 << 20, 0, 0), 1_000, read_bytes.append))
    os.close(fd)
    assert read_bytes == [1_000]


def test_corrupt_and_incomplete_batches_are_faults(tmp_path: Path) -> None:
    data = b"".join(BATCHES)
    flipped = bytearray(data)
    flipped[len(BATCHES[0]) + 70] ^= 1
    for bad, end, match in (
        (bytes(flipped), None, "batch at offset 1 is corrupt"),
        (data[:-1], None, "is not complete"),
        (data + bytes(30), None, "is not complete"),
        (data + bytes(61), None, "no batch begins at position"),
        (data, len(data) + 5, "the file ends at position"),
    ):
        with pytest.raises(CleaningFault, match=match):
            read(tmp_path / "x", bad, 1_000, end)
