"""The worker's part of a round, with open files alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signalbox.protocol.records.batch_header import iter_batch_headers, read_batch_header, write_batch_header
from signalbox.storage.cleaner.batch_retention import RetentionRules
from signalbox.storage.cleaner.cleaning_pass import CleaningPass, Throttle
from signalbox.storage.cleaner.offset_map import ENTRY_BYTES
from signalbox.storage.cleaner.worker_port import CleanedTarget, CleaningFault, Mapped, SegmentSource, WorkerLimits
from signalbox.storage.files.file_system import RealFileSystem
from signalbox.storage.segments.transaction_index import AbortedTransaction, TransactionIndex
from tests.storage.cleaner.cleaning import LIMITS, CompactedLog, keyed, marker

pytestmark = pytest.mark.spec("D6")


class Segments:
    """The closed segments of a log as sources, one for each append."""

    def __init__(self, folder: Path, *batches: bytes) -> None:
        self.log = CompactedLog(folder)
        for batch in batches:
            self.log.append(batch)
        *closed, active = self.log.log.body.segments
        ends = [*(segment.base_offset for segment in closed[1:]), active.base_offset]
        self.files = [segment.file() for segment in closed]
        self.sources = [
            SegmentSource(file.fd, 0, segment.written, 0, end)
            for file, segment, end in zip(self.files, closed, ends, strict=True)
        ]


def test_records_are_mapped_up_to_the_one_that_has_no_room(tmp_path: Path) -> None:
    segments = Segments(tmp_path, keyed({"a": "1", "b": "1"}), keyed({"a": "2", "c": "1", "d": "1"}))
    worker = CleaningPass(RealFileSystem())
    worker.begin(WorkerLimits(3 * (ENTRY_BYTES + 1), 4096, 1e18))
    first, second = map(worker.map_segment, segments.sources)
    assert (first.latest_offset, first.is_full) == (1, False)
    assert (second.latest_offset, second.is_full, second.utilization) == (3, True, 1.0)


def one_segment(log: CompactedLog, *batches: bytes, start_offset: int = 0) -> SegmentSource:
    """A segment with all the `batches`; its file stays open as long as `log` is used."""
    log.append(*batches)
    segment, active = log.log.body.segments
    return SegmentSource(segment.file().fd, 0, segment.written, start_offset, active.base_offset)


def test_an_aborted_transaction_before_the_dirty_part_does_not_affect_the_next_one(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path)
    source = one_segment(
        log,
        keyed({"a": "aborted"}, producer=(7, 0, 0), transactional=True),
        marker(7, commit=False),
        keyed({"a": "2"}, producer=(7, 0, 1), transactional=True),
        marker(7, commit=True),
        start_offset=2,
    )
    worker = CleaningPass(RealFileSystem())
    worker.begin(LIMITS)
    worker.add_aborted([AbortedTransaction(7, 0, 1, 2)])
    worker.map_segment(source)
    assert worker._map.offsets == {b"a": 2}


def test_a_group_is_rewritten_into_one_segment(tmp_path: Path) -> None:
    segments = Segments(tmp_path / "log", keyed({"a": "1", "b": "1"}), keyed({"a": "2"}))
    counted: list[int] = []

    class Counted(Throttle):
        def count(self, size_bytes: int) -> None:
            counted.append(size_bytes)

    worker = CleaningPass(RealFileSystem(), Counted)
    worker.begin(LIMITS)
    for source in segments.sources:
        worker.map_segment(source)
    worker.begin_rewriting()
    fds = [os.open(tmp_path / name, os.O_RDWR | os.O_CREAT) for name in "xyzt"]
    target = CleanedTarget(fds[0], fds[1], fds[2], fds[3], 0, 0)
    rewritten = worker.rewrite(segments.sources, target, RetentionRules(0, 0, 3))
    assert (rewritten.records_read, rewritten.records_kept) == (3, 2)
    assert rewritten.bytes_read == sum(source.end for source in segments.sources)
    assert rewritten.size_bytes == (tmp_path / "x").stat().st_size
    assert sum(counted) == 2 * rewritten.bytes_read + rewritten.size_bytes
    assert (tmp_path / "z").stat().st_size == 12
    for fd in fds:
        os.close(fd)


def test_aborted_batches_are_neither_mapped_nor_kept_and_their_marker_is_indexed(tmp_path: Path) -> None:
    log = CompactedLog(tmp_path / "log")
    source = one_segment(
        log,
        keyed({"a": "1"}),
        keyed({"a": "2"}, producer=(7, 0, 0), transactional=True),
        marker(7, commit=False),
        keyed({"b": "1"}),
    )
    worker, aborted = CleaningPass(RealFileSystem()), AbortedTransaction(7, 1, 2, 3)
    worker.begin(LIMITS)
    worker.add_aborted([aborted])
    worker.map_segment(source)
    assert worker._map.offsets == {b"a": 0, b"b": 3}
    worker.begin_rewriting()
    worker.add_aborted([aborted])
    paths = [tmp_path / name for name in "xyzt"]
    fds = [os.open(path, os.O_RDWR | os.O_CREAT) for path in paths]
    target = CleanedTarget(fds[0], fds[1], fds[2], fds[3], 0, 0)
    worker.rewrite([source], target, RetentionRules(0, 0, 4))
    assert [batch.base_offset for batch in iter_batch_headers(paths[0].read_bytes())] == [0, 2, 3]
    index = TransactionIndex(str(paths[3]))
    index.load(RealFileSystem(), 0)
    assert index.entries() == [aborted]
    for fd in fds:
        os.close(fd)


def test_records_that_cannot_be_read_are_faults(tmp_path: Path) -> None:
    data = write_batch_header(read_batch_header(keyed({"a": "1"}, compression="gzip")), b"not gzip")
    path = tmp_path / "x"
    path.write_bytes(data)
    fd = os.open(path, os.O_RDONLY)
    worker = CleaningPass(RealFileSystem())
    worker.begin(LIMITS)
    with pytest.raises(CleaningFault, match="the batch at offset 0 cannot be read: gzip"):
        worker.map_segment(SegmentSource(fd, 0, len(data), 0, 1))
    os.close(fd)
    assert worker._mapped() == Mapped(-1, 0.0)


def test_the_rate_is_kept_over_the_whole_time() -> None:
    now, pauses = [100.0], list[float]()

    def sleep(seconds: float) -> None:
        now[0] += seconds
        pauses.append(round(seconds, 3))

    throttle = Throttle(1_000.0, lambda: now[0], sleep)
    throttle.count(500)
    throttle.count(100)
    now[0] += 10
    throttle.count(5_000)
    assert pauses == [0.5, 0.1]
    throttle.count(8_000)  # ahead by 3 seconds
    assert pauses[2:] == [1.0, 1.0, 1.0]  # the process looks for its broker in between
