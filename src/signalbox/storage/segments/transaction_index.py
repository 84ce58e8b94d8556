"""The transaction index of a segment: `.txnindex`, one entry of 34 bytes per aborted transaction whose marker is there.

    version i16 (0) | producer id i64 | first offset i64 | last offset i64 | last stable offset i64

The last offset is the marker's; the last stable offset is the one after the marker was appended. Entries are in the
order of the markers. A segment without aborted transactions has no file. The index of the active segment is in memory
and is saved with the other indexes; after a crash it is rebuilt from the log. An entry takes 32 bytes of memory. The
segment is rolled at MAX_ENTRIES, since a closed segment's index is read and written in one piece.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from signalbox.storage.files.file_system import FileSystem, write_fully

_VERSION = 0
_ENTRY = Struct(">hqqqq")
ENTRY_SIZE_BYTES = _ENTRY.size
MAX_ENTRIES = 65_536
_STEP = 16  # entries that a look-up takes from the columns at once


class AbortedTransaction(NamedTuple):
    """One entry."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """`is_loaded`: the entries are in memory; otherwise `load` must come first."""

    __slots__ = ("_columns", "_last_offsets", "_saved", "is_loaded", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._saved = 0
        self.is_loaded = True
        self._set_columns()

    def _set_columns(self) -> None:
        """The fields of the entries, one array per field."""
        self._columns = tuple(array("q") for _ in AbortedTransaction._fields)
        self._last_offsets = self._columns[AbortedTransaction._fields.index("last_offset")]

    def __len__(self) -> int:
        return len(self._last_offsets)

    def __iter__(self) -> Iterator[AbortedTransaction]:
        """The entries that are in memory now; `release` does not end the iteration."""
        return map(AbortedTransaction._make, zip(*self._columns, strict=True))

    def append(self, aborted: AbortedTransaction) -> None:
        """Adds a transaction whose marker is behind all others."""
        for column, value in zip(self._columns, aborted, strict=True):
            column.append(value)

    def overlapping(self, fetch_offset: int, end_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """The transactions with records from `fetch_offset` to `end_offset` (exclusive), and whether later segments
        have no more of them."""
        overlapping: list[AbortedTransaction] = []
        for slot in range(bisect_left(self._last_offsets, fetch_offset), len(self), _STEP):
            for aborted in map(AbortedTransaction, *(column[slot : slot + _STEP] for column in self._columns)):
                if aborted.first_offset < end_offset:
                    overlapping.append(aborted)
                if aborted.last_stable_offset >= end_offset:
                    return overlapping, True
        return overlapping, False

    def truncate_to(self, offset: int) -> None:
        """Removes the transactions whose markers are at `offset` or later."""
        keep = bisect_left(self._last_offsets, offset)
        for column in self._columns:
            del column[keep:]
        self._saved = min(self._saved, keep)

    def entries(self) -> list[AbortedTransaction]:
        """All entries."""
        return list(self)

    def encoded(self, begin: int = 0) -> bytes:
        """The entries from the one at `begin` on, as they are in the file."""
        rows = zip(*(column[begin:] for column in self._columns), strict=True)
        return b"".join(_ENTRY.pack(_VERSION, *fields) for fields in rows)

    def save(self, file_system: FileSystem) -> None:
        """Updates the file: adds the entries since the last save and cuts off truncated ones."""
        if not self.is_loaded or (self._saved == len(self) and not self._has_longer_file()):
            return
        data = self.encoded(self._saved)
        fd = file_system.open(self.path, create=True)
        try:
            write_fully(file_system, fd, data, self._saved * ENTRY_SIZE_BYTES)
            if self._has_longer_file():
                file_system.truncate(fd, len(self) * ENTRY_SIZE_BYTES)
        finally:
            file_system.close(fd)
        self._saved = len(self)

    def sync(self, file_system: FileSystem) -> None:
        """Makes the file durable, if there is one. In any thread: the file may be removed meanwhile."""
        try:
            fd = file_system.open(self.path)
        except FileNotFoundError:
            return
        try:
            file_system.fsync(fd)
        finally:
            file_system.close(fd)

    def load(self, file_system: FileSystem, base_offset: int) -> None:
        """Reads the file; without a file there are no entries. ValueError if it cannot be the index of the segment at
        `base_offset` and must be rebuilt."""
        loaded = TransactionIndex(self.path)
        previous_offset = -1
        if os.path.exists(self.path):
            for version, *fields in _ENTRY.iter_unpack(self._read(file_system)):
                aborted = AbortedTransaction(*fields)
                if version != _VERSION or aborted.last_offset < max(base_offset, aborted.first_offset):
                    raise ValueError(f"{self.path}: invalid entry {aborted} of version {version}")
                if aborted.last_offset <= previous_offset:
                    raise ValueError(f"{self.path}: entries do not ascend")
                previous_offset = aborted.last_offset
                loaded.append(aborted)
        self._columns, self._last_offsets = loaded._columns, loaded._last_offsets
        self._saved, self.is_loaded = len(loaded), True

    def release(self) -> None:
        """Frees the memory of saved entries, which can be loaded again."""
        if len(self):
            self._set_columns()
            self._saved, self.is_loaded = 0, False

    def clear(self) -> None:
        """Removes all entries; the next save empties the file."""
        self._set_columns()
        self._saved, self.is_loaded = 0, True

    def may_be_on_disk(self) -> None:
        """The segment's file existed before: so may the index."""
        self.is_loaded = not os.path.exists(self.path)

    def _read(self, file_system: FileSystem) -> bytes:
        fd = file_system.open(self.path)
        try:
            data = file_system.pread(fd, os.path.getsize(self.path), 0)
        finally:
            file_system.close(fd)
        if len(data) % ENTRY_SIZE_BYTES:
            raise ValueError(f"{self.path}: {len(data)} bytes are not a multiple of the entry size")
        return data

    def _has_longer_file(self) -> bool:
        return os.path.exists(self.path) and os.path.getsize(self.path) > len(self) * ENTRY_SIZE_BYTES
