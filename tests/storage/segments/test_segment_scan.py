from pathlib import Path

import pytest

from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.segments.segment_scan import find_batch, header_at, scan_batches, scan_headers
from tests.storage.workbench import batch

pytestmark = pytest.mark.spec("D2")

DISK = RealFileSystem()


def stored(path: Path, *batches: bytes) -> tuple[int, int]:
    """(descriptor of an open file with `batches`, its size)"""
    data = b"".join(batches)
    (path / "log").write_bytes(data)
    return DISK.open(str(path / "log")), len(data)


def numbered(count: int, size: int = 20, records: int = 3) -> list[bytes]:
    return [batch(records, size=size, offset=number * records) for number in range(count)]


@pytest.mark.parametrize("size", [10, 2000, 400_000])
def test_headers_and_batches_of_any_size(tmp_path: Path, size: int) -> None:
    batches = numbered(5, size)
    fd, end = stored(tmp_path, *batches)
    headers = list(scan_headers(DISK, fd, 0, end))
    assert [header.base_offset for header in headers] == [0, 3, 6, 9, 12]
    assert [bytes(data) for _, data in scan_batches(DISK, fd, 0, end)] == batches
    assert [header.position for header in scan_headers(DISK, fd, headers[2].position, end)] == [
        header.position for header in headers[2:]
    ]
    DISK.close(fd)


def test_a_scan_ends_before_a_batch_that_is_cut_off(tmp_path: Path) -> None:
    batches = numbered(2)
    fd, end = stored(tmp_path, *batches)
    for cut in range(len(batches[0]), end):
        assert len(list(scan_headers(DISK, fd, 0, cut))) == 1
        assert len(list(scan_batches(DISK, fd, 0, cut))) == 1
    DISK.close(fd)


@pytest.mark.parametrize("at", [16, 17, 25, 61, 80])
def test_a_corrupt_batch_ends_the_checked_scan(tmp_path: Path, at: int) -> None:
    batches = numbered(2)
    broken = bytearray(batches[1])
    broken[at] ^= 0x10
    fd, end = stored(tmp_path, batches[0], bytes(broken))
    assert len(list(scan_batches(DISK, fd, 0, end))) == 1
    DISK.close(fd)


def test_zeros_are_no_batches(tmp_path: Path) -> None:
    fd, end = stored(tmp_path, *numbered(1), bytes(500))
    assert len(list(scan_headers(DISK, fd, 0, end))) == 1
    assert header_at(bytes(61), 0, 0) is None
    DISK.close(fd)


def test_a_lying_length_does_not_read_on_for_ever(tmp_path: Path) -> None:
    huge = bytearray(numbered(1)[0])
    huge[8:12] = (2**31 - 1).to_bytes(4, "big")
    negative = bytearray(numbered(1)[0])
    negative[8:12] = (-12).to_bytes(4, "big", signed=True)
    for lie in (huge, negative):
        fd, end = stored(tmp_path, *numbered(1), bytes(lie))
        assert len(list(scan_batches(DISK, fd, 0, end))) == 1
        assert find_batch(DISK, fd, 0, end, 50) is None
        DISK.close(fd)


@pytest.mark.parametrize("size", [10, 3000])
def test_a_batch_is_found_by_any_of_its_offsets(tmp_path: Path, size: int) -> None:
    batches = numbered(100, size)
    fd, end = stored(tmp_path, *batches)
    length = len(batches[0])
    for offset in (0, 1, 2, 3, 150, 299):
        slot = offset // 3
        assert find_batch(DISK, fd, 0, end, offset) == (slot * length, length, slot * 3)
    assert find_batch(DISK, fd, 0, end, 300) is None
    assert find_batch(DISK, fd, 0, 30, 0) is None
    DISK.close(fd)
