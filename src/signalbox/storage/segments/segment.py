"""One segment: a `.log` file with its indexes, and the state that is needed without reading it.

`size` counts all accepted bytes, `written` the bytes in the file; readers never go beyond `written`. Only the last
segment of a log (the active one) accepts batches. It owns its file and keeps the positions of its newest batches, so
that reads at the tail need no I/O to find their position.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from signalbox.common.file_slice import FileSlice, IsResident, NotInPageCache
from signalbox.protocol.records.batch_header import BatchHeader
from signalbox.storage.files.file_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    offset_name,
)
from signalbox.storage.files.file_system import FileSystem
from signalbox.storage.files.open_files import OpenFile, OpenFiles
from signalbox.storage.segments.offset_index import OffsetIndex
from signalbox.storage.segments.segment_scan import find_batch, scan_headers
from signalbox.storage.segments.time_index import TimeIndex
from signalbox.storage.segments.transaction_index import TransactionIndex

NO_TIMESTAMP = -1
NEVER_MS = 2**63 - 1
MAX_RELATIVE_OFFSET = 2**31 - 1
_LOOKUP_SIZE_BYTES = 16_384  # a look-up reads a page or two: index entries are 4 KiB apart
_RECENT_BATCHES = 128  # newest batches whose positions are kept; halved when full


class SegmentMark(NamedTuple):
    """A segment's state before a group of batches, in case the group cannot be written."""

    size: int
    max_timestamp: int
    max_timestamp_offset: int
    first_timestamp: int
    bytes_since_index: int


class Disk(NamedTuple):
    """The access to the files of a log directory."""

    file_system: FileSystem
    open_files: OpenFiles


class Segment:
    """Created empty; after `use_existing_file` it represents an existing file."""

    __slots__ = (
        "_bytes_since_index",
        "_file",
        "_file_system",
        "_indexes_loaded",
        "_max_timestamp",
        "_max_timestamp_known",
        "_open_files",
        "_recent_end",
        "_recent_offsets",
        "_recent_positions",
        "base_offset",
        "first_timestamp",
        "folder",
        "index",
        "index_interval_bytes",
        "max_timestamp_offset",
        "size",
        "time_index",
        "transaction_index",
        "without_timestamp_since_ms",
        "written",
    )

    def __init__(self, folder: str, base_offset: int, disk: Disk, index_interval_bytes: int) -> None:
        self.folder = folder
        self.base_offset = base_offset
        self.index = OffsetIndex(self.path(INDEX_SUFFIX), base_offset)
        self.time_index = TimeIndex(self.path(TIME_INDEX_SUFFIX), base_offset)
        self.transaction_index = TransactionIndex(self.path(TRANSACTION_INDEX_SUFFIX))
        self.index_interval_bytes = index_interval_bytes
        self.size = self.written = 0
        self.first_timestamp = NEVER_MS  # of the first batch; without one, retention rolls
        self.without_timestamp_since_ms = NEVER_MS  # retention has met a first batch without timestamp
        self.max_timestamp_offset = base_offset
        self._max_timestamp = NO_TIMESTAMP
        self._max_timestamp_known = True
        self._bytes_since_index = 0
        self._file: OpenFile | None = None
        self._file_system, self._open_files = disk
        self._indexes_loaded = True
        self._recent_offsets = array("q")
        self._recent_positions = array("q")
        self._recent_end = -1

    def use_existing_file(self, size: int) -> None:
        """The file exists with `size` bytes; all other state is loaded when it is needed."""
        self.size = self.written = size
        self._indexes_loaded = self._max_timestamp_known = size == 0
        self.transaction_index.may_be_on_disk()

    def path(self, suffix: str) -> str:
        """The path of one of the segment's files."""
        return os.path.join(self.folder, offset_name(self.base_offset, suffix))

    # -- writing (the active segment) ---------------------------------------------------------------------------

    def activate(self) -> OpenFile:
        """Makes this the active segment: it keeps its own file open, which is created if it is missing."""
        self._open_files.forget(self)
        if self._file is None:
            self._file = OpenFile(self._file_system, self.path(LOG_SUFFIX), create=True)
        if self.written:
            self.find_max_timestamp()
            self.first_timestamp = _or_never(next((batch.max_timestamp for batch in self.headers()), NO_TIMESTAMP))
            self._open_files.forget(self)
        return self._file

    def accept(self, base_offset: int, last_offset: int, size: int, max_timestamp: int) -> None:
        """Records a batch that will be (or is) at the end of the file."""
        position = self.size
        if max_timestamp > self._max_timestamp:
            self._max_timestamp = max_timestamp
            self.max_timestamp_offset = last_offset
        if self._bytes_since_index > self.index_interval_bytes:
            self.index.append(last_offset, position)
            self.time_index.append(self._max_timestamp, self.max_timestamp_offset)
            self._bytes_since_index = 0
        elif position == 0:
            self.first_timestamp = _or_never(max_timestamp)
        self._bytes_since_index += size
        recent = self._recent_offsets
        if base_offset != self._recent_end:  # a gap: positions are only kept for offsets without one
            del recent[:]
            del self._recent_positions[:]
        elif len(recent) >= _RECENT_BATCHES:
            del recent[: _RECENT_BATCHES // 2]
            del self._recent_positions[: _RECENT_BATCHES // 2]
        recent.append(base_offset)
        self._recent_positions.append(position)
        self._recent_end = last_offset + 1
        self.size = position + size

    def mark(self) -> SegmentMark:
        """The state that `roll_back` needs to remove the batches accepted from here on."""
        return SegmentMark(
            self.size, self.max_timestamp, self.max_timestamp_offset, self.first_timestamp, self._bytes_since_index
        )

    def roll_back(self, mark: SegmentMark, end_offset: int) -> None:
        """Removes what was accepted since `mark`, when `end_offset` was the next offset; the caller truncates the
        file."""
        self.size = mark.size
        self._max_timestamp = mark.max_timestamp
        self.max_timestamp_offset = mark.max_timestamp_offset
        self.first_timestamp = mark.first_timestamp
        self._bytes_since_index = mark.bytes_since_index
        self.index.truncate_to_position(mark.size)
        self.time_index.truncate_to(end_offset)
        self.transaction_index.truncate_to(end_offset)
        self._forget_recent()

    def save_indexes(self, final: bool = False) -> None:
        """Writes the indexes; with `final` the largest timestamp becomes the time index's last entry."""
        self.load_indexes()
        if final and self.max_timestamp >= 0:
            self.time_index.append(self.max_timestamp, self.max_timestamp_offset)
        self.index.save(self._file_system)
        self.time_index.save(self._file_system)
        self.transaction_index.save(self._file_system)

    def fsync(self) -> None:
        """Makes the file durable, with the transaction index: recovery, which rebuilds it, will not read this part."""
        self._file_system.fsync(self.file().fd)
        self.transaction_index.save(self._file_system)
        self.transaction_index.sync(self._file_system)

    # -- reading ------------------------------------------------------------------------------------------------

    def file(self) -> OpenFile:
        """The open log file, counted by `OpenFiles` unless this segment owns it."""
        if self._file is None:
            self._file = OpenFile(self._file_system, self.path(LOG_SUFFIX))
            self._open_files.touch(self)
        return self._file

    def relocate(self, folder: str, file: OpenFile | None = None) -> None:
        """Switches to the same files in another folder. `file`: the open log file there, which the segment keeps."""
        self.folder = folder
        self.index.path, self.time_index.path = self.path(INDEX_SUFFIX), self.path(TIME_INDEX_SUFFIX)
        self.transaction_index.path = self.path(TRANSACTION_INDEX_SUFFIX)
        self._file = file

    def release(self) -> None:
        """Releases what can be loaded again: the file and the indexes (`OpenFiles` calls this)."""
        self._file = None
        if self._indexes_loaded:
            self.index.clear()
            self.time_index.clear()
            self._indexes_loaded = False
        self.transaction_index.release()

    def locate(self, offset: int, is_resident: IsResident | None = None) -> tuple[int, int, int] | None:
        """(position, size, base offset) of the first batch that does not end before `offset`; None beyond the end.
        With `is_resident`: NotInPageCache if the file must be read and it returns false."""
        recent = self._recent_offsets
        if recent and recent[0] <= offset < self._recent_end:
            slot = bisect_right(recent, offset) - 1
            positions = self._recent_positions
            position = positions[slot]
            end = positions[slot + 1] if slot + 1 < len(positions) else self.size
            return position, end - position, recent[slot]
        self.load_indexes()
        start = self.index.position_before(offset)
        if is_resident is not None and start < self.written:
            piece = self.slice(start, min(_LOOKUP_SIZE_BYTES, self.written - start))
            if not is_resident(piece):
                raise NotInPageCache(piece)
        return find_batch(self._file_system, self.file().fd, start, self.written, offset)

    def indexed_before(self, offset: int) -> tuple[int, int]:
        """(position, base offset) of the last indexed batch that does not end after `offset`, or of the first batch.
        The base offset is computed from the index, not read from the batch."""
        self.load_indexes()
        position = self.index.position_before(offset)
        indexed = self.index.last_within(position + 1)
        header = next(self.headers(position), None)
        if indexed is None or header is None:
            return 0, self.base_offset
        return position, indexed[1] - header.last_offset_delta

    def indexed_from(self, position: int) -> int | None:
        """The last offset of the first indexed batch that begins at `position` or later; None if there is none."""
        self.load_indexes()
        return self.index.offset_from(position)

    def slice(self, position: int, size: int) -> FileSlice:
        """A part of the file that stays readable even if the segment is closed or deleted."""
        file = self._file or self.file()
        return FileSlice(file.fd, position, size, file)

    def read(self, position: int, size: int) -> bytes:
        """Reads bytes of the file into memory."""
        return self._file_system.pread(self.file().fd, size, position)

    def headers(self, position: int = 0) -> Iterator[BatchHeader]:
        """The written batches from `position` on."""
        return scan_headers(self._file_system, self.file().fd, position, self.written)

    def time_index_offset(self, timestamp: int) -> int:
        """An offset before which every record of the segment is older than `timestamp`."""
        self.load_indexes()
        return self.time_index.offset_before(timestamp)

    # -- state that is loaded when it is needed -----------------------------------------------------------------

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp in the segment, -1 if it has none."""
        if not self._max_timestamp_known:
            self.find_max_timestamp()
        return self._max_timestamp

    def largest_timestamp(self) -> int:
        """What retention and compaction take as the age: the largest timestamp, or if no record has one the time (ms)
        at which the file was last written, as Kafka's `LogSegment.largestTimestamp` does. OSError."""
        largest = self.max_timestamp
        return largest if largest >= 0 else os.stat(self.path(LOG_SUFFIX)).st_mtime_ns // 1_000_000

    def find_max_timestamp(self) -> None:
        """Takes the largest timestamp from the time index and from the batches behind its last entry."""
        self.load_indexes()
        self._max_timestamp, self.max_timestamp_offset = self.time_index.last() or (NO_TIMESTAMP, self.base_offset)
        start = self.index.position_before(self.max_timestamp_offset)
        for batch in self.headers(start) if self.written else ():
            if batch.record_count and batch.max_timestamp > self._max_timestamp:
                self._max_timestamp, self.max_timestamp_offset = batch.max_timestamp, batch.last_offset
        self._max_timestamp_known = True

    def load_indexes(self) -> bool:
        """Loads both indexes into memory. False: an index was missing or broken, and they were rebuilt from the log."""
        if self._indexes_loaded:
            return True
        self._indexes_loaded = saved = True
        try:
            self.index.load(self._file_system, os.path.getsize(self.index.path))
            self.time_index.load(self._file_system, os.path.getsize(self.time_index.path))
        except (FileNotFoundError, ValueError):
            self.rebuild(self._indexable())
            saved = False
        self._open_files.touch(self)
        return saved

    def _indexable(self) -> Iterator[BatchHeader]:
        """The batches whose offsets an index can hold: up to the first corrupt base offset."""
        for batch in self.headers():
            if not 0 <= batch.base_offset - self.base_offset <= MAX_RELATIVE_OFFSET - batch.last_offset_delta:
                return
            yield batch

    def end_offset(self) -> int | None:
        """The offset after the last record, None in an empty segment."""
        self.load_indexes()
        indexed = self.index.last_within(self.written)
        end_offset = None
        for batch in self.headers(indexed[0] if indexed else 0):
            end_offset = batch.next_offset
        return end_offset

    def rebuild(self, batches: Iterable[BatchHeader]) -> None:
        """Uses `batches`, read from the start of the file, as the whole content: new indexes, new `size`."""
        self.index.clear()
        self.time_index.clear()
        self._indexes_loaded = True
        self.size = self._bytes_since_index = 0
        self._max_timestamp, self.max_timestamp_offset = NO_TIMESTAMP, self.base_offset
        self._max_timestamp_known = True
        self.first_timestamp = NEVER_MS
        for batch in batches:
            max_timestamp = batch.max_timestamp if batch.record_count else NO_TIMESTAMP  # compaction has emptied it
            self.accept(batch.base_offset, batch.last_offset, batch.size_bytes, max_timestamp)
        self._forget_recent()

    def truncate_at(self, position: int, offset: int) -> None:
        """Ends the segment before the batch at `position`, the one that contains `offset`."""
        self._file_system.truncate(self.activate().fd, position)
        self.load_indexes()
        self.index.truncate_to_position(position)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        self.size = self.written = position
        self._bytes_since_index = 0
        self._forget_recent()
        self.find_max_timestamp()

    def _forget_recent(self) -> None:
        del self._recent_offsets[:]
        del self._recent_positions[:]
        self._recent_end = -1


def _or_never(timestamp: int) -> int:
    return timestamp if timestamp >= 0 else NEVER_MS
