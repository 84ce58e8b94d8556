import errno
from pathlib import Path

import pytest

from signalbox.storage.files.background import Done, Work
from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.log_config import LogConfig
from tests.storage.workbench import NOW_MS, TP, append, batch, new_log, offsets

pytestmark = pytest.mark.spec("D7")


def files(path: Path) -> list[str]:
    return sorted(entry.name for entry in (path / str(TP)).iterdir())


def test_a_rolled_segment_is_complete_on_disk(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(2, producer_id=3))
    log.roll()
    assert files(tmp_path) == [
        "00000000000000000000.index",
        "00000000000000000000.log",
        "00000000000000000000.timeindex",
        "00000000000000000002.log",
        "00000000000000000002.snapshot",
        "leader-epoch-checkpoint",
    ]
    assert (tmp_path / str(TP) / "00000000000000000000.timeindex").stat().st_size == 12


def test_a_topic_with_preallocate_reserves_the_space_of_its_active_segment(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    log = new_log(tmp_path, LogConfig(preallocate=True, segment_bytes=1 << 20), file_system=disk)

    def taken(base_offset: int) -> int:
        return (tmp_path / str(TP) / f"{base_offset:020}.log").stat().st_blocks * 512

    append(log, batch(2))
    assert taken(0) >= 1 << 20
    log.roll()
    assert taken(0) < 1 << 20 <= taken(2)
    disk.fail("reserve", errno.ENOSPC)
    append(log, batch(1))
    log.roll()
    append(log, batch(1))
    assert offsets(log) == [0, 1, 2, 3], "the file grows as it is written"


class Later:
    """A background whose jobs run when the test calls `finish`."""

    closed = False

    def __init__(self) -> None:
        self.jobs: list[tuple[Work, Done]] = []

    def run(self, work: Work, done: Done) -> None:
        self.jobs.append((work, done))

    def close(self) -> None:
        self.finish(None)

    def finish(self, error: BaseException | None) -> None:
        for work, done in self.jobs:
            work()
            done(error)
        self.jobs.clear()


def test_the_recovery_point_moves_when_the_old_segment_is_synced(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    later = log.body.directory.background = Later()
    append(log, batch(2))
    log.roll()
    assert log.body.recovery_point == 0
    later.finish(None)
    assert log.body.recovery_point == 2
    append(log, batch(2))
    log.roll()
    later.finish(OSError(5, "broken"))
    assert (log.body.recovery_point, log.online) == (2, False)


def test_the_snapshot_of_a_closed_segment_is_durable_before_the_recovery_point_moves(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    log = new_log(tmp_path, file_system=disk)
    append(log, batch(2))
    log.roll()
    assert (disk.calls["fsync"], log.body.recovery_point) == (2, 2)
    disk.fail("fsync", path_part=".snapshot")
    append(log, batch(2))
    log.roll()
    assert (log.body.recovery_point, log.online) == (2, False)


def test_a_truncation_while_a_sync_is_under_way_is_not_undone_by_it(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    later = log.body.directory.background = Later()
    append(log, batch(2), batch(2))
    log.roll()
    log.truncate_to(2)
    append(log, batch(2))
    later.finish(None)
    assert log.body.recovery_point == 0


def test_jitter_takes_a_part_of_the_rolling_age(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(segment_ms=1000, segment_jitter_ms=600))
    assert 400 < log.body.roll_ms <= 1000
    assert new_log(tmp_path, LogConfig(segment_ms=1000, segment_jitter_ms=600)).body.roll_ms == log.body.roll_ms


def test_a_full_index_rolls(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(segment_index_bytes=36, index_interval_bytes=0))
    append(log, *[batch(1) for _ in range(10)])
    assert [segment.base_offset for segment in log.body.segments] == [0, 4, 8]
    assert all(len(segment.time_index) <= 3 for segment in log.body.segments)


def test_offsets_too_far_from_the_base_roll(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(cleanup_policy=("compact",)))
    log.append_as_follower(batch(1, offset=0) + batch(1, offset=2**31 - 1) + batch(1, offset=2**31))
    log.flush_appends()
    assert [segment.base_offset for segment in log.body.segments] == [0, 2**31]
    assert offsets(log) == [0, 2**31 - 1, 2**31]


def test_retired_files_are_renamed_and_removed_later(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(2))
    log.roll()
    log.high_watermark = 2
    log.delete_records_before(2)
    assert "00000000000000000000.log.deleted" in files(tmp_path)
    log.body.directory.removals.run_due(NOW_MS + 60_000)
    assert files(tmp_path) == [
        "00000000000000000002.log",
        "00000000000000000002.snapshot",
        "leader-epoch-checkpoint",
    ]


def test_sync_reaches_every_segment_since_the_recovery_point(tmp_path: Path) -> None:
    disk = FaultyFileSystem()
    log = new_log(tmp_path, file_system=disk)
    log.body.directory.background = Later()
    for _ in range(3):
        append(log, batch(1))
        log.roll()
    assert "fsync" not in disk.calls
    log.flush()
    assert (disk.calls["fsync"], log.body.recovery_point) == (4, 3)


@pytest.mark.parametrize(("start", "inside"), [(0, False), (1, True)])
def test_a_log_start_inside_a_segment_must_be_saved(tmp_path: Path, start: int, inside: bool) -> None:
    log = new_log(tmp_path)
    append(log, batch(2), batch(2))
    log.high_watermark = 4
    log.delete_records_before(start)
    assert log.body.starts_inside_segment() == inside


def test_where_gaps_may_be(tmp_path: Path) -> None:
    log = new_log(tmp_path, LogConfig(cleanup_policy=("compact",)))
    body = log.body
    assert body.gaps_below == 0  # nothing has been compacted
    body.compacted_to = 5
    body.allow_gaps_to(4)
    assert not (tmp_path / "gap-offset-checkpoint").exists()
    body.allow_gaps_to(8)
    assert body.gaps_below == 8
    assert (tmp_path / "gap-offset-checkpoint").read_text() == "0\n1\nflights 0 8\n"
    log.append_as_follower(b"".join(batch(1, offset=offset) for offset in range(10)))
    log.flush_appends()
    log.truncate_to(7)
    assert (body.compacted_to, body.gaps_to) == (5, 7)
    log.truncate_fully_and_start_at(2)
    assert (body.compacted_to, body.gaps_to) == (2, 2)


def test_truncation_to_a_known_place_is_in_its_segment(tmp_path: Path) -> None:
    """The batch to remove has no valid offset: the next segment begins at the offset where the log must end."""
    log = new_log(tmp_path)
    append(log, batch(2), batch(2))
    log.roll()
    append(log, batch(2))
    assert log.body.truncate_to(4, (0, len(batch(2)))) == 2
    assert [(segment.base_offset, segment.size) for segment in log.body.segments] == [(0, len(batch(2)))]
