"""The time index of a segment: `.timeindex`, twelve bytes per entry (timestamp, relative offset), both ascending.

An entry means: no record up to and including this offset has a later timestamp. The offset is the last one of the batch
with the largest timestamp so far. When a segment is closed, its largest timestamp becomes the last entry, so that a
restart has it without reading the log.
"""

from __future__ import annotations

import os
import struct
from array import array
from bisect import bisect_right

from signalbox.storage.files.file_system import FileSystem, write_fully

ENTRY_SIZE_BYTES = 12
_ENTRY = struct.Struct(">qi")


class TimeIndex:
    """Entries in two arrays, as in the offset index."""

    __slots__ = ("_relative", "_saved", "_timestamps", "base_offset", "path")

    def __init__(self, path: str, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self._timestamps = array("q")
        self._relative = array("I")
        self._saved = 0

    def __len__(self) -> int:
        return len(self._timestamps)

    def append(self, timestamp: int, offset: int) -> None:
        """Adds an entry if its timestamp is larger than the last one; others would break the ascending order."""
        if timestamp > (self._timestamps[-1] if self._timestamps else -1):
            self._timestamps.append(timestamp)
            self._relative.append(offset - self.base_offset)

    def last(self) -> tuple[int, int] | None:
        """The largest indexed timestamp and its offset; None if there is no entry."""
        if not self._timestamps:
            return None
        return self._timestamps[-1], self.base_offset + self._relative[-1]

    def offset_before(self, timestamp: int) -> int:
        """An offset such that all records before it are older than `timestamp`: where the search begins."""
        slot = bisect_right(self._timestamps, timestamp - 1) - 1
        return self.base_offset + (self._relative[slot] if slot >= 0 else 0)

    def truncate_to(self, offset: int) -> None:
        """Removes the entries of `offset` and later."""
        keep = bisect_right(self._relative, offset - self.base_offset - 1) if offset > self.base_offset else 0
        del self._timestamps[keep:]
        del self._relative[keep:]
        self._saved = min(self._saved, keep)

    def entries(self) -> list[tuple[int, int]]:
        """All entries as (timestamp, absolute offset)."""
        return [(t, self.base_offset + r) for t, r in zip(self._timestamps, self._relative, strict=True)]

    def save(self, file_system: FileSystem) -> None:
        """Updates the file: adds the entries since the last save and cuts off truncated ones."""
        data = self.encoded(self._saved)
        fd = file_system.open(self.path, create=True)
        try:
            write_fully(file_system, fd, data, self._saved * ENTRY_SIZE_BYTES)
            if os.path.getsize(self.path) > len(self) * ENTRY_SIZE_BYTES:  # truncating costs a journal entry
                file_system.truncate(fd, len(self) * ENTRY_SIZE_BYTES)
        finally:
            file_system.close(fd)
        self._saved = len(self)

    def load(self, file_system: FileSystem, size_bytes: int) -> None:
        """Reads the file. ValueError if it cannot be the index of this segment and must be rebuilt."""
        fd = file_system.open(self.path)
        try:
            data = file_system.pread(fd, size_bytes, 0)
        finally:
            file_system.close(fd)
        if len(data) % ENTRY_SIZE_BYTES:
            raise ValueError(f"{self.path}: {len(data)} bytes are not a multiple of the entry size")
        timestamps, relative = array("q"), array("I")
        for timestamp, offset in _ENTRY.iter_unpack(data):
            if offset < 0 or (timestamps and (timestamp <= timestamps[-1] or offset < relative[-1])):
                raise ValueError(f"{self.path}: entries do not ascend")
            timestamps.append(timestamp)
            relative.append(offset)
        self._timestamps, self._relative, self._saved = timestamps, relative, len(timestamps)

    def clear(self) -> None:
        """Removes all entries; the next save empties the file."""
        self._timestamps, self._relative, self._saved = array("q"), array("I"), 0

    def encoded(self, start: int = 0) -> bytes:
        """The bytes of the file, from the entry in slot `start` on."""
        pack, timestamps, relative = _ENTRY.pack, self._timestamps, self._relative
        return b"".join(pack(timestamps[slot], relative[slot]) for slot in range(start, len(self)))
