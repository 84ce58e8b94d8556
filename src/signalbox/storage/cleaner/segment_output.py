"""The files of a cleaned segment: its batches, and the indexes for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from signalbox.protocol.records.batch_header import BatchHeader
from signalbox.storage.cleaner.batch_filter import Cleaned
from signalbox.storage.cleaner.worker_port import CleanedTarget
from signalbox.storage.files.file_system import FileSystem, write_fully
from signalbox.storage.files.open_files import OpenFiles
from signalbox.storage.segments.segment import Disk, Segment
from signalbox.storage.segments.transaction_index import AbortedTransaction


class SegmentOutput:
    """Batches in order; `complete` makes the files durable."""

    def __init__(
        self, file_system: FileSystem, target: CleanedTarget, buffer_bytes: int, on_write: Callable[[int], None]
    ) -> None:
        self._file_system = file_system
        self._target = target
        self._buffer_bytes = buffer_bytes
        self._on_write = on_write
        disk = Disk(file_system, OpenFiles())
        self._segment = Segment("", target.base_offset, disk, target.index_interval_bytes)  # its indexes, in memory
        self._pieces: list[bytes] = []
        self._piece_bytes = 0
        self._position = 0

    def add(self, cleaned: Cleaned, batch: BatchHeader) -> None:
        """What is left of `batch`."""
        size = len(cleaned.data)
        self._segment.accept(batch.base_offset, batch.last_offset, size, cleaned.max_timestamp)
        self._pieces.append(bytes(cleaned.data))  # a view would keep the whole chunk
        self._piece_bytes += size
        if self._piece_bytes >= self._buffer_bytes:
            self._write()

    def complete(self, aborted: Iterable[AbortedTransaction]) -> int:
        """Writes the rest and the indexes, all durably; returns the size of the log file. `aborted`: the entries of the
        transaction index."""
        self._write()
        segment, target = self._segment, self._target
        if segment.max_timestamp >= 0:
            segment.time_index.append(segment.max_timestamp, segment.max_timestamp_offset)
        write_fully(self._file_system, target.index_fd, segment.index.encoded(), 0)
        write_fully(self._file_system, target.time_index_fd, segment.time_index.encoded(), 0)
        for transaction in aborted:
            segment.transaction_index.append(transaction)
        write_fully(self._file_system, target.transaction_index_fd, segment.transaction_index.encoded(), 0)
        for fd in (target.log_fd, target.index_fd, target.time_index_fd, target.transaction_index_fd):
            self._file_system.fsync(fd)
        return self._position

    def _write(self) -> None:
        if not self._pieces:
            return
        data = b"".join(self._pieces)
        self._pieces.clear()
        write_fully(self._file_system, self._target.log_fd, data, self._position)
        self._position += len(data)
        self._piece_bytes = 0
        self._on_write(len(data))
