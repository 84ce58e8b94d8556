"""Building blocks for tests of logs: batches, a directory, an opened or reopened log."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from crc32c import crc32c

from signalbox.common.clock import ManualClock
from signalbox.common.ids import TopicPartition
from signalbox.protocol.records.compression import UnpacksTooLarge
from signalbox.protocol.records.record_batch import Record, decode_records, encode_batch
from signalbox.protocol.records.transaction_marker import TransactionMarker, encode_marker
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.files.background import InlineBackground
from signalbox.storage.files.file_system import Buffer, FileSystem, RealFileSystem
from signalbox.storage.files.open_files import OpenFiles
from signalbox.storage.last_run import LastRun
from signalbox.storage.log import Log
from signalbox.storage.log_config import LogConfig
from signalbox.storage.log_loader import create_body, load_body
from signalbox.storage.producers.transaction_verification import SWITCHED_OFF
from signalbox.storage.segments.segment import Disk
from signalbox.storage.segments.timestamp_search import Search, TimestampedOffset

NOW_MS = ManualClock().now_ms()
TP = TopicPartition("flights", 0)
TOPIC_ID = bytes(range(16))


def batch(
    count: int = 1,
    *,
    size: int = 20,
    offset: int = 0,
    producer_id: int = -1,
    producer_epoch: int = 0,
    sequence: int = 0,
    timestamp: int = NOW_MS,
    epoch: int = 0,
    compression: str = "none",
    transactional: bool = False,
) -> bytes:
    """A batch of `count` records of `size` bytes, one millisecond apart."""
    rows = [Record(timestamp=timestamp + number, value=bytes([number % 251]) * size) for number in range(count)]
    idempotent = producer_id >= 0
    return encode_batch(
        rows,
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch if idempotent else -1,
        base_sequence=sequence if idempotent else -1,
        partition_leader_epoch=epoch,
        compression=compression,
        transactional=transactional,
    )


def open_directory(path: Path, file_system: FileSystem | None = None, capacity: int = 512) -> LogDirectory:
    """A log directory without a lock, by default on the real file system."""
    disk = Disk(file_system or RealFileSystem(), OpenFiles(capacity))
    path.mkdir(exist_ok=True)
    return LogDirectory(str(path), disk, InlineBackground(), ManualClock())


def new_log(path: Path, config: LogConfig | None = None, file_system: FileSystem | None = None) -> Log:
    """An empty log in its own folder below `path`."""
    directory = open_directory(path, file_system)
    body = create_body(str(path / str(TP)), directory, config or LogConfig())
    return Log(TP, TOPIC_ID, body, 0)


def reopened(path: Path, config: LogConfig | None = None, last_run: LastRun | None = None) -> Log:
    """The log below `path`, loaded as by a new process."""
    directory = open_directory(path)
    body, end_offset = load_body(str(path / str(TP)), directory, config or LogConfig(), last_run or LastRun())
    return Log(TP, TOPIC_ID, body, end_offset)


def append(log: Log, *batches: Buffer, epoch: int = 0) -> None:
    """Appends batches as a leader, and writes them."""
    for one in batches:
        log.append_as_leader(one, epoch, NOW_MS)
    log.flush_appends()


def append_transactional(log: Log, producer_id: int, sequence: int = 0, count: int = 1, epoch: int = 0) -> int:
    """Appends a batch of a transaction as a leader whose verification is switched off; returns its base offset."""
    data = batch(count, producer_id=producer_id, sequence=sequence, producer_epoch=epoch, transactional=True)
    info = log.append_admitted(log.admit_at_once(data, NOW_MS), 0, guard=SWITCHED_OFF)
    log.flush_appends()
    return info.first_offset


def append_marker(
    log: Log, producer_id: int, *, is_commit: bool = True, epoch: int = 0, coordinator_epoch: int = 1
) -> int:
    """Appends a transaction marker as a leader; returns its offset."""
    data = encode_marker(producer_id, epoch, TransactionMarker(is_commit, coordinator_epoch), NOW_MS)
    info = log.append_marker(data, 0, NOW_MS, 0)
    log.flush_appends()
    return info.first_offset


def records(log: Log, offset: int | None = None, max_bytes: int = 1 << 20) -> list[Record]:
    """All records from `offset` (default: the log start) to the log end, read slice by slice as by a consumer."""
    found: list[Record] = []
    position = log.log_start_offset if offset is None else offset
    while position < log.log_end_offset:
        piece = log.read(position, max_bytes)
        assert not isinstance(piece.records, bytes)
        rows = [r for r in decode_records(piece.records.read(), allow_partial_tail=True) if r.offset >= position]
        if not rows:
            break
        found += rows
        position = rows[-1].offset + 1
    return found


def offsets(log: Log) -> list[int]:
    """The offsets that a consumer reads."""
    return [record.offset for record in records(log)]


def finished(search: Search, result: Any = None) -> TimestampedOffset | None:
    """The result of a search by timestamp, with all its steps done here. `result`: of the step that it waits for."""
    while True:
        try:
            steps, _ = search.send(result)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        try:
            result = steps.finish()
        except UnpacksTooLarge as error:
            steps, _ = search.throw(error)
            result = steps.finish()


def claiming(data: bytes, max_timestamp: int) -> bytes:
    """The batch with another largest timestamp in its header, and the checksum for it."""
    claimed = bytearray(data)
    struct.pack_into(">q", claimed, 35, max_timestamp)
    struct.pack_into(">I", claimed, 17, crc32c(memoryview(claimed)[21:]))
    return bytes(claimed)
