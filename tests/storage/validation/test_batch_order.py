"""Which batch may follow another one, and recovery by that rule after a bit flip in any header."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.protocol.records.batch_header import HEADER_SIZE, read_batch_header
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.last_run import LastRun
from signalbox.storage.leader_epochs import LeaderEpochs
from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from signalbox.storage.validation.batch_order import GAPS_ANYWHERE, NO_GAPS, BatchBehindGap, BatchOrder
from tests.storage.workbench import TP, append, batch, new_log, offsets, reopened

SMALL = LogConfig(segment_bytes=600, index_interval_bytes=100)
COMPACTED = LogConfig(segment_bytes=600, index_interval_bytes=100, cleanup_policy=("compact",))
BATCHES = 12
EPOCHS = (0, 4, 8)  # of the first, second and last third of the log


def epochs(*starts: tuple[int, int]) -> LeaderEpochs:
    cache = LeaderEpochs("", RealFileSystem())
    for epoch, start in starts:
        cache.assign(epoch, start)
    return cache


@pytest.mark.parametrize(
    ("gaps_below", "offset", "epoch", "fault"),
    [
        (NO_GAPS, 10, 3, None),
        (NO_GAPS, 11, 3, "base offset 11 instead of 10"),
        (NO_GAPS, 9, 3, "base offset 9 instead of 10"),
        (GAPS_ANYWHERE, 11, 3, None),
        (GAPS_ANYWHERE, 9, 3, "base offset 9 instead of 10"),
        (15, 15, 3, None),
        (15, 16, 3, "base offset 16 instead of 10"),
        (NO_GAPS, 10, 2, "leader epoch 2 instead of 3"),
        (NO_GAPS, 10, 4, None),  # a later epoch than all in the cache
        (NO_GAPS, 10, -1, "leader epoch -1 instead of 3"),
        (10, 10, 0, "leader epoch 0 instead of 3"),
    ],
)
def test_the_batch_behind_offset_9(gaps_below: int, offset: int, epoch: int, fault: str | None) -> None:
    order = BatchOrder(epochs((1, 0), (3, 8)), gaps_below, 10)
    assert order.fault(read_batch_header(batch(2, offset=offset, epoch=epoch))) == fault
    assert order.next_offset == (10 if fault else offset + 2)


def test_epochs_never_fall_even_where_the_cache_knows_none() -> None:
    order = BatchOrder(epochs(), NO_GAPS, 0)
    assert order.fault(read_batch_header(batch(1, offset=0, epoch=2))) is None
    assert order.fault(read_batch_header(batch(1, offset=1, epoch=1))) == "leader epoch 1 after 2"
    order = BatchOrder(epochs(), NO_GAPS, 0)
    assert order.fault(read_batch_header(batch(1, offset=0, epoch=-1))) is None  # from before leader epochs existed
    assert order.fault(read_batch_header(batch(1, offset=1, epoch=-2))) == "leader epoch -2 after -1"


def test_a_batch_behind_a_gap_is_corrupt_if_the_next_one_begins_before_its_end() -> None:
    order = BatchOrder(epochs(), 20, 4)
    assert order.fault(read_batch_header(batch(2, offset=6))) is None
    assert order.corrupt_before(8) is None
    corrupt = order.corrupt_before(7)
    assert corrupt == BatchBehindGap(4, 6, 0)
    assert corrupt.fault(7) == "base offset 6 instead of 4, offset 7 follows"
    assert order.fault(read_batch_header(batch(1, offset=8))) is None  # it confirms the offset of the one before
    assert order.corrupt_before(3) is None
    assert order.fault(read_batch_header(batch(1, offset=12))) is None
    order.continue_at(13)  # so does a segment
    assert order.corrupt_before(3) is None


# -- recovery


def lived(path: Path) -> list[tuple[Path, int]]:
    """A log of several segments that was never closed. Returns (path, position) of each batch of two records."""
    log = new_log(path, SMALL)
    for number in range(BATCHES):
        append(log, batch(2), epoch=EPOCHS[number * 3 // BATCHES])
    places = []
    for segment in log.body.segments:
        places += [(Path(segment.path(".log")), found.position) for found in segment.headers()]
    assert len(places) == BATCHES
    return places


def flip(place: tuple[Path, int], bit: int) -> None:
    path, position = place
    with path.open("rb+") as file:
        file.seek(position + bit // 8)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 0x80 >> bit % 8]))


def assert_whole(log: Log) -> None:
    """No offset is missing, no leader epoch falls, and the log ends where its last batch ends."""
    found = [header for segment in log.body.segments for header in segment.headers()]
    assert [header.base_offset for header in found] == [0, *(header.next_offset for header in found)][:-1]
    assert log.log_end_offset == (found[-1].next_offset if found else 0)
    assert offsets(log) == list(range(log.log_end_offset))
    assert [header.partition_leader_epoch for header in found] == sorted(h.partition_leader_epoch for h in found)


@pytest.mark.spec("D3")
@pytest.mark.parametrize("at", range(16))
@pytest.mark.parametrize("number", [0, 5, BATCHES - 1])
def test_recovery_ends_the_log_before_a_batch_with_a_corrupt_byte(tmp_path: Path, at: int, number: int) -> None:
    places = lived(tmp_path)
    for bit in range(at * 8, at * 8 + 8):
        flip(places[number], bit)
    log = reopened(tmp_path, SMALL)
    assert_whole(log)
    # In the last batch, an epoch above all known ones is accepted: the leader's response will show that it is wrong.
    believed = number == BATCHES - 1 and log.last_leader_epoch > EPOCHS[-1]
    assert log.log_end_offset == 2 * (number + believed)


@pytest.mark.spec("D3")
@given(
    number=st.integers(0, BATCHES - 1),
    bit=st.integers(0, HEADER_SIZE * 8 - 1),
    clean=st.booleans(),
    without_indexes=st.booleans(),
    cut=st.integers(0, 2 * BATCHES),
)
@settings(max_examples=80, deadline=None)
def test_whatever_bit_of_a_header_is_flipped_there_is_no_hole(
    number: int, bit: int, clean: bool, without_indexes: bool, cut: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        places = lived(path)
        if clean:  # then only the end is checked; corruption before it is left to the scrub
            number = BATCHES - 1
            reopened(path, SMALL).close()
        flip(places[number], bit)
        if without_indexes:
            for index in (path / str(TP)).glob("*index"):
                index.unlink()
        log = reopened(path, SMALL, LastRun(clean=clean, recovery_point=2 * BATCHES if clean else 0))
        if not clean or bit < 128:
            assert_whole(log)
            log.truncate_to(cut)
            assert_whole(log)


@pytest.mark.spec("D3")
def test_a_corrupt_offset_of_the_last_batch_is_detected_after_a_clean_shutdown_too(tmp_path: Path) -> None:
    places = lived(tmp_path)
    reopened(tmp_path, SMALL).close()
    flip(places[-1], 36)  # adds 2^27
    log = reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=2 * BATCHES))
    assert_whole(log)
    assert log.log_end_offset == 2 * BATCHES - 2


def test_an_epoch_that_a_lower_one_follows_goes_with_its_batch(tmp_path: Path) -> None:
    """The cache is older than the log, as after a power failure: only the next batch shows that the epoch is wrong."""
    places = lived(tmp_path)
    (tmp_path / str(TP) / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    flip(places[6], 12 * 8 + 1)  # adds 2^30
    log = reopened(tmp_path, SMALL)
    assert_whole(log)
    assert (log.log_end_offset, log.last_leader_epoch) == (12, 4)


def test_a_segment_that_does_not_begin_where_the_last_one_ends_is_dropped(tmp_path: Path) -> None:
    places = lived(tmp_path)
    first, second = sorted({path for path, _ in places})[:2]
    with first.open("rb+") as file:
        file.truncate(next(position for path, position in reversed(places) if path == first))
    log = reopened(tmp_path, SMALL)
    assert_whole(log)
    assert log.log_end_offset == int(second.stem) - 2


@pytest.mark.spec("D2")
@pytest.mark.parametrize(
    ("config", "last_run", "end"),
    [
        (COMPACTED, LastRun(), 1),
        (SMALL, LastRun(compacted_to=13), 14),
        (SMALL, LastRun(compacted_to=5), 4),
        (SMALL, LastRun(gaps_to=10), 11),
    ],
    ids=["cleanup.policy alone", "cleaner-offset-checkpoint", "not compacted so far", "gap-offset-checkpoint"],
)
def test_a_log_that_was_compacted_has_gaps(tmp_path: Path, config: LogConfig, last_run: LastRun, end: int) -> None:
    log = new_log(tmp_path, COMPACTED)
    for offset in (0, 3, 10, 13):
        log.append_as_follower(batch(1, offset=offset))
    log.flush_appends()
    assert reopened(tmp_path, config, last_run).log_end_offset == end


@pytest.mark.spec("D3")
@pytest.mark.parametrize("number", [4, 6, 9])
@pytest.mark.parametrize("bit", [60, 61, 62])
@pytest.mark.parametrize("last_run", [LastRun(), LastRun(compacted_to=24)], ids=["never compacted", "compacted"])
def test_recovery_ends_a_log_with_compaction_before_a_corrupt_base_offset(
    tmp_path: Path, last_run: LastRun, bit: int, number: int
) -> None:
    """The flip adds 2, 4 or 8 to the offset: the batch looks as if it were behind a gap."""
    places = lived(tmp_path)
    before = read_batch_header(places[number][0].read_bytes()[places[number][1] :]).base_offset
    flip(places[number], bit)
    after = read_batch_header(places[number][0].read_bytes()[places[number][1] :]).base_offset
    log = reopened(tmp_path, COMPACTED, last_run)
    assert_whole(log)
    assert (before, log.log_end_offset) == (2 * number, 2 * number), after


def test_a_segment_shows_that_the_batch_before_it_has_a_wrong_offset(tmp_path: Path) -> None:
    places = lived(tmp_path)
    first = places[0][0]
    number = sum(path == first for path, _ in places) - 1
    flip(places[number], 59)  # adds 16: behind the beginning of the next segment
    log = reopened(tmp_path, COMPACTED, LastRun(compacted_to=24))
    assert_whole(log)
    assert log.log_end_offset == 2 * number
    assert log.body.gaps_below == 2 * number  # what is fetched again has no gap


def test_truncation_ends_where_the_last_batch_ends(tmp_path: Path) -> None:
    log = new_log(tmp_path, COMPACTED)
    log.append_as_follower(batch(2, offset=0) + batch(1, offset=10) + batch(1, offset=20))
    log.flush_appends()
    log.truncate_to(15)
    assert log.log_end_offset == 11
    log.truncate_to(5)
    assert log.log_end_offset == 2


def test_a_clean_shutdown_whose_end_is_gone_does_not_count_as_one(tmp_path: Path) -> None:
    places = lived(tmp_path)
    reopened(tmp_path, SMALL).close()
    assert not reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=2 * BATCHES)).body.has_unexpected_end
    flip(places[-1], 36)
    assert reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=2 * BATCHES)).body.has_unexpected_end


def test_where_the_epochs_of_batches_are_their_own_word(tmp_path: Path) -> None:
    """From this offset on the high watermark does not count: the leader's response may truncate the log there."""
    places = lived(tmp_path)
    assert reopened(tmp_path, SMALL).body.epochs_verified_to > 2 * BATCHES
    flip(places[-1], 127)
    log = reopened(tmp_path, SMALL)
    assert (log.last_leader_epoch, log.body.epochs_verified_to) == (EPOCHS[-1] + 1, 2 * BATCHES - 2)
