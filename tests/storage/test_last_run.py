"""What the last run tells about a log, in directories of this version and of others: where the log may have gaps, and
whether it ends where a clean shutdown left it."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.clock import ManualClock
from signalbox.common.cooperative_task import CooperativeTask
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.last_run import LastRun, LastRuns
from signalbox.storage.log_config import LogConfig
from signalbox.storage.log_manager import LogManager
from signalbox.storage.validation.batch_order import GAPS_ANYWHERE
from tests.storage.workbench import TOPIC_ID, TP, append, batch, offsets, open_directory

COMPACTED = LogConfig(cleanup_policy=("compact",))


def checkpoint(path: Path, name: str, offset: int) -> None:
    (path / name).write_text(f"0\n1\nflights 0 {offset}\n")


def test_the_values_come_from_the_checkpoints(tmp_path: Path) -> None:
    names = ("recovery-point-offset", "log-start-offset", "cleaner-offset", "gap-offset", "replication-offset")
    for offset, name in enumerate(names, 1):
        checkpoint(tmp_path, f"{name}-checkpoint", offset)
    last_runs = LastRuns(open_directory(tmp_path), clean=True)
    assert last_runs.of(TP, COMPACTED) == LastRun(True, 1, 2, 3, 4)
    assert (last_runs.high_watermarks, last_runs.partitions) == ({TP: 5}, {TP})


def test_a_new_directory_has_none(tmp_path: Path) -> None:
    last_runs = LastRuns(open_directory(tmp_path), clean=False)
    assert last_runs.of(TP, LogConfig()) == LastRun()
    assert last_runs.partitions == set()


@pytest.mark.parametrize("content", [None, "rubbish"], ids=["absent", "corrupt"])
@pytest.mark.parametrize(
    ("config", "high_watermark", "gaps_to"),
    [(COMPACTED, 11, 11), (COMPACTED, None, GAPS_ANYWHERE), (LogConfig(), 11, 0)],
)
def test_where_no_gaps_were_stored_a_compacted_topic_may_have_them_up_to_its_high_watermark(
    tmp_path: Path, content: str | None, config: LogConfig, high_watermark: int | None, gaps_to: int
) -> None:
    if content is not None:
        (tmp_path / "gap-offset-checkpoint").write_text(content)
    if high_watermark is not None:
        checkpoint(tmp_path, "replication-offset-checkpoint", high_watermark)
    last_runs = LastRuns(open_directory(tmp_path), clean=False)
    assert not last_runs.gaps_are_known
    assert last_runs.of(TP, config).gaps_to == gaps_to


def test_where_gaps_are_stored_a_log_without_an_entry_has_none(tmp_path: Path) -> None:
    (tmp_path / "gap-offset-checkpoint").write_text("0\n0\n")
    checkpoint(tmp_path, "replication-offset-checkpoint", 11)
    last_runs = LastRuns(open_directory(tmp_path), clean=False)
    assert last_runs.gaps_are_known
    assert last_runs.of(TP, COMPACTED).gaps_to == 0


# -- log directories


def manager(path: Path, config: LogConfig | None = None) -> LogManager:
    logs = LogManager([str(path)], RealFileSystem(), ManualClock())
    logs.start("cluster-a", 1, lambda topic: config or LogConfig())
    return logs


def die(logs: LogManager) -> None:
    """What the kernel does when a process is killed: it releases the locks."""
    for directory in logs.directories:
        directory.unlock()


def replace_base_offset(path: Path, number: int, offset: int) -> None:
    """Changes the base offset of a batch in the only segment, which has batches of one record."""
    (segment,) = (path / str(TP)).glob("*.log")
    data = bytearray(segment.read_bytes())
    at = number * len(batch(1))
    data[at : at + 8] = offset.to_bytes(8, "big")
    segment.write_bytes(data)


@pytest.mark.spec("D3")
@pytest.mark.parametrize("number", [4, 11])
def test_a_log_with_compaction_that_was_never_compacted_has_no_gap(tmp_path: Path, number: int) -> None:
    logs = manager(tmp_path, config=COMPACTED)
    log = logs.create(TP, TOPIC_ID, COMPACTED)
    log.append_as_follower(b"".join(batch(1, offset=offset) for offset in range(12)))
    log.flush_appends()
    log.high_watermark = 12
    logs.checkpoint()
    die(logs)
    replace_base_offset(tmp_path, number, number + 2)
    found = manager(tmp_path, config=COMPACTED)
    log = next(iter(found))
    assert (log.log_end_offset, log.previous_high_watermark) == (number, 12)
    assert offsets(log) == list(range(number))
    die(found)


@pytest.mark.parametrize("clean", [False, True])
def test_gaps_from_a_leader_are_still_known_after_a_restart(tmp_path: Path, clean: bool) -> None:
    logs = manager(tmp_path, config=COMPACTED)
    log = logs.create(TP, TOPIC_ID, COMPACTED)
    log.append_as_follower(batch(1, offset=3) + batch(1, offset=7) + batch(1, offset=8))
    log.flush_appends()
    logs.close() if clean else die(logs)
    for _ in range(2):
        logs = manager(tmp_path)  # whatever the policy is now
        log = next(iter(logs))
        assert (offsets(log), log.body.gaps_below) == ([3, 7, 8], 7)
        logs.checkpoint()
        die(logs)
    logs = manager(tmp_path)
    log = next(iter(logs))
    log.truncate_to(4)
    append(log, batch(1))  # `gap-offset-checkpoint` follows with the first write
    assert log.body.gaps_below == 4
    die(logs)
    assert (tmp_path / "gap-offset-checkpoint").read_text() == "0\n1\nflights 0 4\n"


def test_a_log_written_by_kafka_may_have_gaps_when_it_is_opened_first(tmp_path: Path) -> None:
    """A follower of Apache Kafka stores nowhere that its leader's records had gaps."""
    logs = manager(tmp_path, config=COMPACTED)
    log = logs.create(TP, TOPIC_ID, COMPACTED)
    log.append_as_follower(b"".join(batch(1, offset=offset) for offset in (3, 7, 8, 9, 10)))
    log.flush_appends()
    log.high_watermark = 9
    logs.checkpoint()
    die(logs)
    (tmp_path / "gap-offset-checkpoint").unlink()
    for _ in range(2):
        found = manager(tmp_path, config=COMPACTED)
        log = next(iter(found))
        assert (offsets(log), log.body.gaps_below) == ([3, 7, 8, 9, 10], 9)
        die(found)
    replace_base_offset(tmp_path, 3, 11)
    found = manager(tmp_path, config=COMPACTED)
    assert offsets(next(iter(found))) == [3, 7, 8]
    die(found)


def test_a_checkpoint_does_not_replace_a_gap_that_was_stored_meanwhile(tmp_path: Path) -> None:
    logs = manager(tmp_path, config=COMPACTED)
    log = logs.create(TP, TOPIC_ID, COMPACTED)
    log.append_as_follower(batch(1, offset=3))
    log.flush_appends()
    work = CooperativeTask(logs.checkpoint)
    offset = 3
    while not work.dead:
        offset += 2
        log.append_as_follower(batch(1, offset=offset))
        log.flush_appends()
        assert (tmp_path / "gap-offset-checkpoint").read_text().endswith(f"flights 0 {offset}\n")
        work.switch()
    assert (tmp_path / "gap-offset-checkpoint").read_text().endswith(f"flights 0 {offset}\n")
    die(logs)


@pytest.mark.parametrize("lost", ["one batch", "last segment"])
def test_a_directory_whose_logs_were_truncated_after_its_clean_shutdown_is_not_cleanly_shut_down(
    tmp_path: Path, lost: str
) -> None:
    logs = manager(tmp_path)
    log = logs.create(TP, TOPIC_ID, LogConfig())
    append(log, batch(1), batch(1))
    if lost == "last segment":
        log.roll()
    append(log, batch(1))
    logs.close(broker_epoch=5)
    *_, segment = sorted((tmp_path / str(TP)).glob("*.log"))
    if lost == "one batch":
        segment.write_bytes(segment.read_bytes()[: -len(batch(1))])
    else:
        segment.unlink()
    found = manager(tmp_path)
    assert offsets(next(iter(found))) == [0, 1]
    assert found.directories[0].previous_broker_epoch == -1
    found.close(broker_epoch=6)
    assert manager(tmp_path).directories[0].previous_broker_epoch == 6


@pytest.mark.spec("D3")
def test_committed_records_that_a_log_has_lost_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    logs = manager(tmp_path)
    log = logs.create(TP, TOPIC_ID, LogConfig())
    append(log, *(batch(2, offset=offset) for offset in range(0, 10, 2)))
    log.high_watermark = 8
    logs.checkpoint()
    die(logs)
    intact = manager(tmp_path)
    assert "gone from this replica" not in caplog.text
    die(intact)
    segment = next((tmp_path / str(TP)).glob("*.log"))
    segment.write_bytes(segment.read_bytes()[: segment.stat().st_size * 2 // 5])
    trimmed = manager(tmp_path)
    found = trimmed.get(TP)
    assert found is not None
    assert (found.log_end_offset, found.high_watermark, found.previous_high_watermark) == (4, 4, 8)
    assert (
        "Log of flights-0 ends below its high watermark (log end offset=4, high watermark=8): records from offset 4 to "
        "7 are gone from this replica" in caplog.text
    )
    die(trimmed)
