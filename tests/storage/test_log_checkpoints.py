"""Each checkpoint has the offsets of the logs that need an entry in it, and the next start reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.cooperative_task import CooperativeTask
from signalbox.storage.last_run import LastRun, LastRuns
from signalbox.storage.log_checkpoints import (
    write_cleaner_offsets,
    write_gaps,
    write_high_watermarks,
    write_log_checkpoints,
)
from signalbox.storage.log_config import LogConfig
from tests.storage.workbench import TP, append, batch, new_log, open_directory

pytestmark = pytest.mark.spec("D2")


def test_the_next_start_reads_what_was_written(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(9))
    log.high_watermark = 8
    log.flush()
    log.delete_records_before(3)
    log.body.compacted_to = 2
    log.body.allow_gaps_to(5)
    write_log_checkpoints(log.body.directory.write_checkpoint, [log])
    write_cleaner_offsets(log.body.directory.write_checkpoint, [log])
    write_gaps(log.body.directory, [log], sync=True)
    last_runs = LastRuns(open_directory(tmp_path), clean=True)
    assert last_runs.of(TP, LogConfig()) == LastRun(True, 9, 3, 2, 5)
    assert last_runs.high_watermarks == {TP: 8}


def test_logs_without_trim_compaction_and_gaps_have_no_entry_for_them(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(9))
    write_log_checkpoints(log.body.directory.write_checkpoint, [log])
    write_cleaner_offsets(log.body.directory.write_checkpoint, [log])
    write_gaps(log.body.directory, [log], sync=False)
    assert {file.name: file.read_text() for file in tmp_path.glob("*-checkpoint")} == {
        "recovery-point-offset-checkpoint": "0\n1\nflights 0 0\n",
        "replication-offset-checkpoint": "0\n1\nflights 0 0\n",
        "log-start-offset-checkpoint": "0\n0\n",
        "cleaner-offset-checkpoint": "0\n0\n",
        "gap-offset-checkpoint": "0\n0\n",
    }


def test_high_watermarks_can_be_written_alone(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, batch(9))
    log.high_watermark = 7
    write_high_watermarks(log.body.directory.write_checkpoint_later, [log])
    assert [file.read_text() for file in tmp_path.glob("*-checkpoint")] == ["0\n1\nflights 0 7\n"]


def test_only_the_checkpoint_of_gaps_is_written_without_a_pause(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.body.allow_gaps_to(5)

    def slices(task: CooperativeTask) -> int:
        count = 0
        while not task.dead:
            task.switch()
            count += 1
        return count

    directory = log.body.directory
    assert slices(CooperativeTask(lambda: write_gaps(directory, [log] * 3, sync=False))) == 1
    assert slices(CooperativeTask(lambda: write_high_watermarks(directory.write_checkpoint, [log] * 3))) > 1
