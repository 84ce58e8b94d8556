"""Loading a log after a clean shutdown, after a kill at any byte, or with modified files."""

import shutil
from pathlib import Path

import pytest

from signalbox.storage.last_run import LastRun
from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from tests.storage.workbench import NOW_MS, TP, append, batch, new_log, offsets, records, reopened

pytestmark = pytest.mark.spec("D3")

SMALL = LogConfig(segment_bytes=600, index_interval_bytes=100)


def lived(path: Path, batches: int = 20, config: LogConfig = SMALL) -> Log:
    """A log with records that was never closed."""
    log = new_log(path, config)
    for number in range(batches):
        append(log, batch(2, producer_id=7, sequence=number * 2, timestamp=NOW_MS + number), epoch=number // 8)
    return log


def files(path: Path) -> dict[str, bytes]:
    """All files in the log's folder, indexes and the leader epoch checkpoint included."""
    return {entry.name: entry.read_bytes() for entry in sorted((path / str(TP)).iterdir())}


def test_a_torn_tail_is_cut_wherever_it_was_torn(tmp_path: Path) -> None:
    lived(tmp_path)
    active = sorted((tmp_path / str(TP)).glob("*.log"))[-1]
    base_offset, intact = int(active.stem), active.read_bytes()
    size = len(batch(2, producer_id=7))
    assert len(intact) == 5 * size
    for cut in range(len(intact) + 1):
        active.write_bytes(intact[:cut])
        log = reopened(tmp_path, SMALL)
        end = base_offset + cut // size * 2
        assert (log.log_end_offset, active.stat().st_size) == (end, cut // size * size)
        assert log.body.producers.entries[7].last_sequence == end - 1
        assert log.body.epochs.start_offsets[-1] < end
        assert offsets(log)[-3:] == list(range(end - 3, end))


@pytest.mark.parametrize("at", [0, 8, 16, 17, 30, 61, 100])
def test_a_corrupt_batch_ends_the_log_there(tmp_path: Path, at: int) -> None:
    lived(tmp_path)
    active = sorted((tmp_path / str(TP)).glob("*.log"))[-1]
    data = bytearray(active.read_bytes())
    size = len(batch(2, producer_id=7))
    data[size + at] ^= 0x7F
    active.write_bytes(data)
    assert reopened(tmp_path, SMALL).log_end_offset == int(active.stem) + 2


def test_rubbish_and_zeros_behind_the_end_are_cut(tmp_path: Path) -> None:
    lived(tmp_path)
    active = sorted((tmp_path / str(TP)).glob("*.log"))[-1]
    intact = active.read_bytes()
    for tail in (bytes(1000), b"\xff" * 1000, intact[: len(intact) // 2]):
        active.write_bytes(intact + tail)
        assert reopened(tmp_path, SMALL).log_end_offset == 40
        assert active.read_bytes() == intact


def test_a_corrupt_older_segment_removes_the_later_segments(tmp_path: Path) -> None:
    lived(tmp_path)
    first, second, *_ = sorted((tmp_path / str(TP)).glob("*.log"))
    second.write_bytes(second.read_bytes()[:-1])
    log = reopened(tmp_path, SMALL)
    assert log.log_end_offset == int(second.stem) + 8
    assert [segment.base_offset for segment in log.body.segments] == [0, int(second.stem)]
    assert first.exists()
    append(log, batch(2, producer_id=7, sequence=log.log_end_offset), epoch=log.last_leader_epoch)
    assert offsets(reopened(tmp_path, SMALL)) == list(range(int(second.stem) + 10))


def test_recovery_reads_only_behind_the_recovery_point(tmp_path: Path) -> None:
    lived(tmp_path)
    first, *_, last = sorted((tmp_path / str(TP)).glob("*.log"))
    data = bytearray(first.read_bytes())
    data[100] ^= 1
    first.write_bytes(data)
    log = reopened(tmp_path, SMALL, LastRun(recovery_point=int(last.stem)))
    assert log.log_end_offset == 40


def test_indexes_are_rebuilt_as_they_were(tmp_path: Path) -> None:
    log = lived(tmp_path)
    log.flush()
    before = files(tmp_path)
    for name in before:
        if name.endswith("index"):
            (tmp_path / str(TP) / name).write_bytes(b"\0" * 4096)
    reopened(tmp_path, SMALL)
    assert {k: v for k, v in files(tmp_path).items() if k.endswith(".index")} == {
        k: v for k, v in before.items() if k.endswith(".index")
    }


def test_lost_leader_epochs_come_back_from_the_batches(tmp_path: Path) -> None:
    lived(tmp_path)
    (tmp_path / str(TP) / "leader-epoch-checkpoint").unlink()
    log = reopened(tmp_path, SMALL)
    assert (log.body.epochs.epochs, log.body.epochs.start_offsets) == ([0, 1, 2], [0, 16, 32])
    assert (tmp_path / str(TP) / "leader-epoch-checkpoint").read_text().endswith("0 0\n1 16\n2 32\n")


@pytest.mark.parametrize("content", [None, "", "0\n9\nrubbish\n"])
def test_lost_leader_epochs_of_a_clean_log_come_back_too(tmp_path: Path, content: str | None) -> None:
    """Without them a follower could keep records that its leader does not have."""
    lived(tmp_path).close()
    path = tmp_path / str(TP) / "leader-epoch-checkpoint"
    path.unlink() if content is None else path.write_text(content)
    log = reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=40))
    assert (log.body.epochs.epochs, log.body.epochs.start_offsets) == ([0, 1, 2], [0, 16, 32])
    assert path.read_text().endswith("0 0\n1 16\n2 32\n")


def test_a_clean_start_reads_next_to_nothing_and_finds_the_same(tmp_path: Path) -> None:
    log = lived(tmp_path)
    log.close()
    kept = tmp_path / "kept"
    shutil.copytree(tmp_path / str(TP), kept)
    log = reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=40))
    assert (log.log_end_offset, log.last_leader_epoch) == (40, 2)
    assert log.body.producers.entries[7].last_sequence == 39
    append(log, batch(2, producer_id=7, sequence=40))
    assert offsets(log) == list(range(42))


def test_a_marker_that_lies_is_found_out(tmp_path: Path) -> None:
    lived(tmp_path).close()
    active = sorted((tmp_path / str(TP)).glob("*.log"))[-1]
    active.write_bytes(active.read_bytes()[:-5])
    assert reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=40)).log_end_offset == 38


@pytest.mark.parametrize("lost", ["one batch", "last segment", "all segments"])
def test_a_log_that_ends_before_its_clean_shutdown_is_not_intact(
    tmp_path: Path, lost: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = lived(tmp_path)
    size = len(batch(2, producer_id=7))
    log.close()
    segments = sorted((tmp_path / str(TP)).glob("*.log"))
    end = {"one batch": 38, "last segment": int(segments[-1].stem), "all segments": 0}[lost]
    if lost == "one batch":
        segments[-1].write_bytes(segments[-1].read_bytes()[:-size])
    for segment in {"one batch": [], "last segment": segments[-1:], "all segments": segments}[lost]:
        segment.unlink()
    log = reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=40))
    assert (log.log_end_offset, log.body.has_unexpected_end) == (end, True)
    assert offsets(log) == list(range(end))
    assert f"since its clean shutdown (partition=flights-0, log end offset={end}, before=40)" in caplog.text
    append(log, batch(1))
    assert offsets(log) == list(range(end + 1))


def test_leftovers_are_swept(tmp_path: Path) -> None:
    lived(tmp_path)
    folder = tmp_path / str(TP)
    for name in (
        "00000000000000000000.log.deleted",
        "00000000000000099999.index",
        "x.tmp",
        "00000000000000000000.log.swap",
    ):
        (folder / name).write_bytes(b"x")
    reopened(tmp_path, SMALL)
    names = {entry.name for entry in folder.iterdir()}
    assert not names & {"00000000000000000000.log.deleted", "00000000000000099999.index", "x.tmp"}


def test_an_empty_folder_becomes_an_empty_log_at_the_log_start(tmp_path: Path) -> None:
    (tmp_path / str(TP)).mkdir()
    log = reopened(tmp_path, SMALL, LastRun(log_start_offset=50))
    assert (log.log_start_offset, log.log_end_offset) == (50, 50)


def test_a_log_start_beyond_the_end_starts_an_empty_log_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lived(tmp_path)
    log = reopened(tmp_path, SMALL, LastRun(log_start_offset=1000))
    assert (log.log_start_offset, log.log_end_offset) == (1000, 1000)
    assert (
        "Log restarted (partition=flights-0, log end offset=1000, before=40, reason=its log start offset is above its "
        "end)" in caplog.text
    )
    append(log, batch(1))
    assert records(log)[0].offset == 1000


def test_an_empty_active_segment_is_fine(tmp_path: Path) -> None:
    log = lived(tmp_path)
    log.roll()
    assert reopened(tmp_path, SMALL).log_end_offset == 40
    log = reopened(tmp_path, SMALL, LastRun(clean=True, recovery_point=40))
    append(log, batch(2, producer_id=7, sequence=40))
    assert offsets(log) == list(range(42))


def test_a_truncation_is_logged_with_the_offset_where_the_log_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The leader epoch of a batch is corrupt, and too late: the batch behind it shows that."""
    size = len(batch(2, producer_id=7))
    lived(tmp_path)
    (tmp_path / str(TP) / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    segments = sorted((tmp_path / str(TP)).glob("*.log"))
    data = bytearray(segments[1].read_bytes())
    data[2 * size + 15] += 9
    segments[1].write_bytes(data)
    end = int(segments[1].stem) + 4
    assert reopened(tmp_path, SMALL).log_end_offset == end
    messages = [record.getMessage() for record in caplog.records if "by recovery" in record.getMessage()]
    assert messages == [
        f"Log segment {segments[1]} is corrupt: truncated to offset {end} by recovery (partition=flights-0, "
        f"before>={segments[-1].stem.lstrip('0')}, reason=leader epoch 1 after 9, bytes={13 * size}, "
        f"later segments={len(segments) - 2}). A follower fetches the rest from its leader"
    ]


def test_the_snapshot_of_a_clean_shutdown_inside_a_segment_does_not_outlive_the_next_run(tmp_path: Path) -> None:
    log, folder = new_log(tmp_path), tmp_path / str(TP)
    for number in range(3):
        append(log, batch(2, producer_id=7, sequence=number * 2))
        log.close()
        log = reopened(tmp_path)
        assert [path.stem for path in folder.glob("*.snapshot")] == [f"{2 * number + 2:020}"]
    log.roll()
    append(log, batch(2, producer_id=7, sequence=6))
    log.close()
    log = reopened(tmp_path)
    assert sorted(path.stem for path in folder.glob("*.snapshot")) == [f"{offset:020}" for offset in (6, 8)]
    assert log.body.producers.entries[7].last_sequence == 7
