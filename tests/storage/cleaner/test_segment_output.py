"""The files of a cleaned segment: the same bytes and indexes as a log has that was written in the usual way."""

from __future__ import annotations

import os
from pathlib import Path

from signalbox.protocol.records.batch_header import read_batch_header
from signalbox.storage.cleaner.batch_filter import Cleaned
from signalbox.storage.cleaner.segment_output import SegmentOutput
from signalbox.storage.cleaner.worker_port import CleanedTarget
from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.log_config import LogConfig
from tests.storage.workbench import append, batch, new_log


def target_of(fds: list[int]) -> CleanedTarget:
    log_fd, index_fd, time_index_fd = fds
    return CleanedTarget(log_fd, index_fd, time_index_fd, 0, 300)


def test_the_files_are_those_of_a_log(tmp_path: Path) -> None:
    batches = [batch(3, offset=3 * n, timestamp=1_700_000_000_000 + 10 * (n % 7) + n) for n in range(40)]
    log = new_log(tmp_path / "log", LogConfig(index_interval_bytes=300))
    append(log, *batches)
    log.roll()
    file_system, written = FaultyFileSystem(), []  # type: ignore[var-annotated]
    fds = [file_system.open(str(tmp_path / name), create=True) for name in (".log", ".index", ".timeindex")]
    output = SegmentOutput(file_system, target_of(fds), 1_000, written.append)
    for data in batches:
        header = read_batch_header(data)
        output.add(Cleaned(memoryview(data), 3, header.max_timestamp), header)
    assert output.complete() == sum(map(len, batches)) == sum(written)
    assert len(written) > 3
    assert file_system.calls["fsync"] == 3
    segment = log.body.segments[0]
    for suffix in (".log", ".index", ".timeindex"):
        assert (tmp_path / suffix).read_bytes() == Path(segment.path(suffix)).read_bytes(), suffix
    for fd in fds:
        os.close(fd)


def test_a_segment_without_batches_is_empty(tmp_path: Path) -> None:
    file_system = FaultyFileSystem()
    fds = [file_system.open(str(tmp_path / name), create=True) for name in "xyz"]
    assert SegmentOutput(file_system, target_of(fds), 1_000, lambda size: None).complete() == 0
    assert [(tmp_path / name).stat().st_size for name in "xyz"] == [0, 0, 0]
    for fd in fds:
        os.close(fd)
