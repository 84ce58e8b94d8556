"""The transaction index of a segment: `.txnindex`, one entry of 34 bytes per aborted transaction whose marker is there.

    version i16 (0) | producer id i64 | first offset i64 | last offset i64 | last stable offset i64

The last offset is the marker's; the last stable offset is the one after the marker was appended. Entries are in the
order of the markers. A segment without aborted transactions has no file. The index of the active segment is in memory
and is saved with the other indexes; after a crash it is rebuilt from the log.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from struct import Struct
from typing import NamedTuple

from signalbox.storage.files.file_system import FileSystem, write_fully

_VERSION = 0
_ENTRY = Struct(">hqqqq")
ENTRY_SIZE_BYTES = _ENTRY.size


class AbortedTransaction(NamedTuple):
    """One entry."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """`is_loaded`: the entries are in memory; otherwise `load` must come first."""

    __slots__ = ("_entries", "_saved", "is_loaded", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.is_loaded = True
        self._entries: list[AbortedTransaction] = []
        self._saved = 0

    def __len__(self) -> int:
        return len(self._entries)

    def append(self, aborted: AbortedTransaction) -> None:
        """Adds a transaction whose marker is behind all others."""
        self._entries.append(aborted)

    def overlapping(self, fetch_offset: int, end_offset: int) -> tuple[list[AbortedTransaction], bool]:
        """The transactions with records from `fetch_offset` to `end_offset` (exclusive), and whether later segments
        have no more of them."""
        overlapping: list[AbortedTransaction] = []
        entries = self._entries
        for slot in range(bisect_left(entries, fetch_offset, key=_last_offset), len(entries)):
            aborted = entries[slot]
            if aborted.first_offset < end_offset:
                overlapping.append(aborted)
            if aborted.last_stable_offset >= end_offset:
                return overlapping, True
        return overlapping, False

    def truncate_to(self, offset: int) -> None:
        """Removes the transactions whose markers are at `offset` or later."""
        del self._entries[bisect_left(self._entries, offset, key=_last_offset) :]
        self._saved = min(self._saved, len(self._entries))

    def entries(self) -> list[AbortedTransaction]:
        """All entries."""
        return list(self._entries)

    def save(self, file_system: FileSystem) -> None:
        """Updates the file: adds the entries since the last save and cuts off truncated ones."""
        if not self.is_loaded or (self._saved == len(self._entries) and not self._has_longer_file()):
            return
        data = b"".join(_ENTRY.pack(_VERSION, *aborted) for aborted in self._entries[self._saved :])
        fd = file_system.open(self.path, create=True)
        try:
            write_fully(file_system, fd, data, self._saved * ENTRY_SIZE_BYTES)
            if self._has_longer_file():
                file_system.truncate(fd, len(self._entries) * ENTRY_SIZE_BYTES)
        finally:
            file_system.close(fd)
        self._saved = len(self._entries)

    def sync(self, file_system: FileSystem) -> None:
        """Makes the file durable, if there is one. In any thread."""
        if not os.path.exists(self.path):
            return
        fd = file_system.open(self.path)
        try:
            file_system.fsync(fd)
        finally:
            file_system.close(fd)

    def load(self, file_system: FileSystem, base_offset: int) -> None:
        """Reads the file; without a file there are no entries. ValueError if it cannot be the index of the segment at
        `base_offset` and must be rebuilt."""
        entries: list[AbortedTransaction] = []
        if os.path.exists(self.path):
            for version, *fields in _ENTRY.iter_unpack(self._read(file_system)):
                aborted = AbortedTransaction(*fields)
                if version != _VERSION or aborted.last_offset < max(base_offset, aborted.first_offset):
                    raise ValueError(f"{self.path}: invalid entry {aborted} of version {version}")
                if entries and aborted.last_offset <= entries[-1].last_offset:
                    raise ValueError(f"{self.path}: entries do not ascend")
                entries.append(aborted)
        self._entries, self._saved, self.is_loaded = entries, len(entries), True

    def release(self) -> None:
        """Frees the memory of saved entries, which can be loaded again."""
        if self._entries:
            self._entries, self._saved, self.is_loaded = [], 0, False

    def clear(self) -> None:
        """Removes all entries; the next save empties the file."""
        self._entries, self._saved, self.is_loaded = [], 0, True

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
        return os.path.exists(self.path) and os.path.getsize(self.path) > len(self._entries) * ENTRY_SIZE_BYTES


def _last_offset(aborted: AbortedTransaction) -> int:
    return aborted.last_offset
