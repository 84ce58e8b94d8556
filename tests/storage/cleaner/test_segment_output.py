"""The files of a cleaned segment: the same bytes and indexes as a log has that was written in the usual way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signalbox.protocol.records.batch_header import read_batch_header
from signalbox.storage.cleaner.batch_filter import Cleaned
from signalbox.storage.cleaner.segment_output import SegmentOutput
from signalbox.storage.cleaner.worker_port import CleanedTarget
from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from signalbox.storage.files.file_names import SEGMENT_SUFFIXES
from signalbox.storage.log_config import LogConfig
from signalbox.storage.segments.transaction_index import AbortedTransaction, TransactionIndex
from tests.storage.workbench import append, batch, new_log

pytestmark = pytest.mark.spec("D6")

ABORTED = AbortedTransaction(7, 3, 9, 10)


def target_of(fds: list[int]) -> CleanedTarget:
    return CleanedTarget(fds[0], fds[1], fds[2], fds[3], 0, 300)


def test_the_files_are_those_of_a_log(tmp_path: Path) -> None:
    batches = [batch(3, offset=3 * n, timestamp=1_700_000_000_000 + 10 * (n % 7) + n) for n in range(40)]
    log = new_log(tmp_path / "log", LogConfig(index_interval_bytes=300))
    append(log, *batches)
    log.roll()
    file_system, written = FaultyFileSystem(), []  # type: ignore[var-annotated]
    fds = [file_system.open(str(tmp_path / name), create=True) for name in SEGMENT_SUFFIXES]
    output = SegmentOutput(file_system, target_of(fds), 1_000, written.append)
    for data in batches:
        header = read_batch_header(data)
        output.add(Cleaned(memoryview(data), 3, header.max_timestamp), header)
    assert output.complete([ABORTED]) == sum(map(len, batches)) == sum(written)
    assert len(written) > 3
    assert file_system.calls["fsync"] == 4
    segment = log.body.segments[0]
    for suffix in (".log", ".index", ".timeindex"):
        assert (tmp_path / suffix).read_bytes() == Path(segment.path(suffix)).read_bytes(), suffix
    index = TransactionIndex(str(tmp_path / ".txnindex"))
    index.load(file_system, 0)
    assert index.entries() == [ABORTED]
    for fd in fds:
        os.close(fd)


def test_a_segment_without_batches_is_empty(tmp_path: Path) -> None:
    file_system = FaultyFileSystem()
    fds = [file_system.open(str(tmp_path / name), create=True) for name in "wxyz"]
    assert SegmentOutput(file_system, target_of(fds), 1_000, lambda size: None).complete([]) == 0
    assert [(tmp_path / name).stat().st_size for name in "wxyz"] == [0, 0, 0, 0]
    for fd in fds:
        os.close(fd)
