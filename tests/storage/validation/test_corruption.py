"""A segment is checked piece by piece: intact ones pass with any size of piece, corrupt batches are reported."""

from __future__ import annotations

import pytest

from signalbox.common.cooperative_task import CooperativeTask
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.leader_epochs import LeaderEpochs
from signalbox.storage.validation.batch_order import NO_GAPS, BatchOrder
from signalbox.storage.validation.corruption import Corruption, SegmentCheck
from tests.storage.workbench import batch

pytestmark = pytest.mark.spec("D3")

BATCHES = [batch(2, offset=100 + 2 * number, epoch=3, size=50 + 400 * (number == 2)) for number in range(5)]
DATA = b"".join(BATCHES)
POSITIONS = [sum(map(len, BATCHES[:number])) for number in range(6)]


def check(*, from_offset: int = 0, gaps_below: int = NO_GAPS) -> SegmentCheck:
    cache = LeaderEpochs("", RealFileSystem())
    cache.assign(3, 100)
    return SegmentCheck(100, BatchOrder(cache, gaps_below, 100, strict=True), from_offset=from_offset)


def reader(data: bytes, pieces: list[int] | None = None):  # type: ignore[no-untyped-def]
    def read(position: int, size: int) -> bytes:
        if pieces is not None:
            pieces.append(size)
        return data[position : position + size]

    return read


@pytest.mark.parametrize("size", [1, 61, 62, 200, 500, len(DATA)])
def test_an_intact_segment_passes_whatever_the_pieces(size: int) -> None:
    looked = check()
    while looked.position < len(DATA):
        needed = looked.bytes_needed(DATA[looked.position : looked.position + 61], len(DATA))
        piece = DATA[looked.position : looked.position + max(needed, size)]
        assert looked.check(piece, len(DATA)) is None
    assert (looked.order.next_offset, looked.bytes_checked) == (110, len(DATA))


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("at", [0, 3, 7, 8, 9, 11, 12, 14, 15, 16, 17, 20, 22, 26, 40, 60, 61, 90])
def test_a_corrupt_batch_is_named(number: int, at: int) -> None:
    data = bytearray(DATA)
    data[POSITIONS[number] + at] ^= 1
    corruption = check().run(reader(bytes(data)), len(data), len(data))
    assert corruption is not None
    assert corruption[:3] == (100 + 2 * number, 100, POSITIONS[number])


def test_below_the_compacted_offset_the_batch_behind_the_gap_is_named() -> None:
    data = bytearray(DATA)
    data[POSITIONS[2] + 7] += 5
    corruption = check(gaps_below=200).run(reader(bytes(data)), len(data), len(data))
    assert corruption == Corruption(104, 100, POSITIONS[2], "base offset 109 instead of 104, offset 106 follows")
    data[POSITIONS[3] + 100] ^= 1  # a batch with a wrong checksum contradicts nothing
    corruption = check(gaps_below=200).run(reader(bytes(data)), len(data), len(data))
    assert corruption is not None
    assert corruption.position == POSITIONS[3]


def test_the_next_segment_shows_where_this_one_ends() -> None:
    looked = check()
    assert looked.run(reader(DATA), len(DATA), len(DATA)) is None
    assert looked.corruption_before_segment(110) is None
    assert looked.corruption_before_segment(112) == Corruption(
        110, 100, len(DATA), "the next segment begins at offset 112 instead of 110"
    )
    data = bytearray(DATA)
    data[POSITIONS[4] + 7] += 5
    looked = check(gaps_below=200)
    assert looked.run(reader(bytes(data)), len(data), len(data)) is None
    assert looked.corruption_before_segment(110) == Corruption(
        108, 100, POSITIONS[4], "base offset 113 instead of 108, offset 110 follows"
    )


@pytest.mark.parametrize("at", [8, 16, 20, 70])
def test_a_look_that_ends_at_a_corrupt_header_ends(at: int) -> None:
    data = bytearray(DATA)
    data[POSITIONS[3] + at] ^= 0x40
    looked = check()
    assert looked.run(reader(bytes(data)), POSITIONS[3], len(data)) is None
    corruption = looked.run(reader(bytes(data)), looked.position + 1, len(data))
    assert corruption is not None
    assert corruption.position == POSITIONS[3]


@pytest.mark.parametrize("missing", [1, 50, len(BATCHES[-1]) - 1])
def test_a_segment_must_end_with_a_complete_batch(missing: int) -> None:
    data = DATA[:-missing]
    assert check().run(reader(data), len(data), len(data)) == Corruption(108, 100, POSITIONS[4], "no complete batch")


def test_a_length_that_cannot_be_is_not_read() -> None:
    data = bytearray(DATA)
    data[8] = 0x7F
    sizes: list[int] = []
    corruption = check().run(reader(bytes(data), sizes), len(data), 1 << 31)
    assert corruption is not None
    assert corruption.reason == "no complete batch"
    assert max(sizes) <= len(DATA)


def test_batches_before_the_log_start_are_not_checked() -> None:
    data = bytearray(DATA)
    data[80] ^= 1
    assert check(from_offset=102).run(reader(bytes(data)), len(data), len(data)) is None
    assert check(from_offset=101).run(reader(bytes(data)), len(data), len(data)) is not None


def test_a_look_gives_way_between_batches() -> None:
    work = CooperativeTask(lambda: check().run(reader(DATA), len(DATA), len(DATA)))
    slices = 0
    while not work.dead:
        work.switch()
        slices += 1
    assert slices > len(BATCHES)
