import errno
from pathlib import Path

import pytest

from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.files.file_names import SNAPSHOT_SUFFIX, offset_name, offsets_in
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.producers.producer_snapshot import (
    decode_snapshot,
    encode_snapshot,
    load_snapshot,
    remove_unused_snapshots,
    save_snapshot,
    sync_snapshots,
)
from signalbox.storage.producers.producer_state import ProducerStates

pytestmark = pytest.mark.spec("D2")


def states() -> ProducerStates:
    made = ProducerStates()
    made.append(5, 3, (7, 9, 1799, 2, 1_700_000_000_000))
    made.append(6, 0, (2**31 - 1, 0, 1801, 1, 1_700_000_000_001), transactional=True)
    made.end_transaction(7, 1, 4, 1_700_000_000_002, 1802)
    return made


def test_kafkas_bytes() -> None:
    one = ProducerStates()
    one.append(5, 3, (7, 9, 1799, 2, 1000))
    data = encode_snapshot(one).hex()
    assert data[:4] == "0001"
    assert data[12:20] == "00000001"
    assert data[20:] == ("000000000000000500030000000900000000000007070000000200000000000003e8ffffffff" + "ff" * 8)


def test_the_last_batch_of_each_producer_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000001802.snapshot"
    save_snapshot(RealFileSystem(), str(path), states())
    found = load_snapshot(RealFileSystem(), str(path), path.stat().st_size)
    assert found.entries[5].batches == ((7, 9, 1799, 2, 1_700_000_000_000),)
    assert found.entries[6].batches == ((2**31 - 1, 0, 1801, 1, 1_700_000_000_001),)
    assert found.entries[6].transaction_first_offset == 1800
    assert found.entries[6].next_sequence == 1
    assert found.entries[7].batches == ()
    assert found.entries[7].coordinator_epoch == 4
    assert found.ongoing == {1800: 6}


@pytest.mark.spec("D5")
def test_transactions_are_in_the_order_of_their_offsets_and_records_without_a_sequence_come_back() -> None:
    made = ProducerStates()
    made.append(9, 0, (-1, -1, 12, 2, 1000), transactional=True)
    made.append(8, 0, (0, 0, 5, 0, 1000), transactional=True)
    made.append(9, 0, (-1, -1, 15, 2, 1000), transactional=True)
    found = decode_snapshot(encode_snapshot(made))
    assert list(found.ongoing) == [5, 10]
    assert found.entries[9].batches == ((-1, -1, 15, 2, 1000),)
    assert found.entries[9].transaction_first_offset == 10


def test_an_empty_snapshot() -> None:
    assert decode_snapshot(encode_snapshot(ProducerStates())).entries == {}


@pytest.mark.parametrize("cut", range(10))
def test_a_cut_snapshot_is_rejected(cut: int) -> None:
    with pytest.raises(ValueError, match="snapshot"):
        decode_snapshot(encode_snapshot(states())[:cut])


@pytest.mark.parametrize("at", [0, 1, 3, 9, 20, -1])
def test_a_changed_snapshot_is_rejected(at: int) -> None:
    data = bytearray(encode_snapshot(states()))
    data[at] ^= 0x40
    with pytest.raises(ValueError, match="snapshot"):
        decode_snapshot(bytes(data))


def saved(folder: Path, *offsets: int) -> None:
    for offset in offsets:
        save_snapshot(RealFileSystem(), str(folder / offset_name(offset, SNAPSHOT_SUFFIX)), ProducerStates())


@pytest.mark.parametrize(
    ("offsets", "kept"),
    [
        ([0, 5, 10, 13, 17, 20, 21], [0, 10, 20]),
        ([10, 20, 22, 25], [10, 20, 25]),  # the newest one inside the last segment
        ([13, 23, 31], [23]),  # above the end
        ([10, 20], [10, 20]),
        ([], []),
    ],
)
def test_of_the_snapshots_inside_segments_only_the_newest_is_kept(
    tmp_path: Path, offsets: list[int], kept: list[int]
) -> None:
    saved(tmp_path, *offsets)
    end_offset = 20 if 21 in offsets else 30
    remove_unused_snapshots(RealFileSystem(), str(tmp_path), [0, 10, 20], end_offset)
    assert offsets_in(str(tmp_path), SNAPSHOT_SUFFIX) == kept


def test_snapshots_are_made_durable_and_may_be_gone(tmp_path: Path) -> None:
    saved(tmp_path, 10, 20, 30, 40)
    disk = FaultyFileSystem()
    sync_snapshots(disk, str(tmp_path), 10, 30)
    assert (disk.calls["fsync"], disk.calls["close"]) == (2, 2)
    disk.fail("open", errno.ENOENT, "20.snapshot")
    sync_snapshots(disk, str(tmp_path), 10, 30)
    assert disk.calls["fsync"] == 3
    sync_snapshots(disk, str(tmp_path / "renamed"), 10, 30)
