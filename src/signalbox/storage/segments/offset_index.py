"""The sparse offset index of a segment: `.index`, eight bytes per entry, one entry per `index.interval.bytes`.

An entry has the last offset of a batch, relative to the segment's base offset, and the file position at which that
batch begins (two big-endian 32-bit numbers). The index of the active segment is in memory and is saved when the segment
is flushed, rolled or closed: after a crash it is rebuilt from the log anyway.
"""

from __future__ import annotations

import os
import sys
from array import array
from bisect import bisect_left, bisect_right

from signalbox.storage.files.file_system import FileSystem, write_fully

ENTRY_SIZE_BYTES = 8
_SWAP = sys.byteorder == "little"


class OffsetIndex:
    """Entries in two arrays; `append`, `position_before` and `truncate_to_position` use memory only."""

    __slots__ = ("_positions", "_relative", "_saved", "base_offset", "path")

    def __init__(self, path: str, base_offset: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self._relative = array("I")
        self._positions = array("I")
        self._saved = 0

    def __len__(self) -> int:
        return len(self._relative)

    def append(self, last_offset: int, position: int) -> None:
        """Adds the batch that ends with `last_offset` and begins at `position`."""
        self._relative.append(last_offset - self.base_offset)
        self._positions.append(position)

    def position_before(self, offset: int) -> int:
        """Where the search for `offset` begins: the position of the last indexed batch that does not end after it."""
        slot = bisect_right(self._relative, offset - self.base_offset) - 1
        return self._positions[slot] if slot >= 0 else 0

    def last_within(self, end_position: int) -> tuple[int, int] | None:
        """(position, last offset) of the last indexed batch before `end_position`; None if there is none."""
        slot = bisect_right(self._positions, end_position - 1) - 1
        return (self._positions[slot], self.base_offset + self._relative[slot]) if slot >= 0 else None

    def offset_from(self, position: int) -> int | None:
        """The last offset of the first indexed batch that begins at `position` or later; None if there is none."""
        slot = bisect_left(self._positions, position)
        return self.base_offset + self._relative[slot] if slot < len(self._positions) else None

    def truncate_to_position(self, end_position: int) -> None:
        """Removes the entries of batches that begin at `end_position` or later."""
        keep = bisect_right(self._positions, end_position - 1)
        del self._relative[keep:]
        del self._positions[keep:]
        self._saved = min(self._saved, keep)

    def entries(self) -> list[tuple[int, int]]:
        """All entries as (absolute offset, position)."""
        return [(self.base_offset + r, p) for r, p in zip(self._relative, self._positions, strict=True)]

    def save(self, file_system: FileSystem) -> None:
        """Updates the file: adds the entries since the last save and cuts off truncated ones."""
        fd = file_system.open(self.path, create=True)
        try:
            write_fully(file_system, fd, self.encoded(self._saved), self._saved * ENTRY_SIZE_BYTES)
            if os.path.getsize(self.path) > len(self) * ENTRY_SIZE_BYTES:  # truncating costs a journal entry
                file_system.truncate(fd, len(self) * ENTRY_SIZE_BYTES)
        finally:
            file_system.close(fd)
        self._saved = len(self._relative)

    def load(self, file_system: FileSystem, size_bytes: int) -> None:
        """Reads the file. ValueError if it cannot be the index of this segment and must be rebuilt."""
        fd = file_system.open(self.path)
        try:
            data = file_system.pread(fd, size_bytes, 0)
        finally:
            file_system.close(fd)
        if len(data) % ENTRY_SIZE_BYTES:
            raise ValueError(f"{self.path}: {len(data)} bytes are not a multiple of the entry size")
        pairs = array("I", data)
        if _SWAP:
            pairs.byteswap()
        relative, positions = pairs[0::2], pairs[1::2]
        if len(relative) > 1 and (relative[-1] <= relative[0] or positions[-1] <= positions[0]):
            raise ValueError(f"{self.path}: entries do not ascend")
        self._relative, self._positions, self._saved = relative, positions, len(relative)

    def clear(self) -> None:
        """Removes all entries; the next save empties the file."""
        self._relative, self._positions, self._saved = array("I"), array("I"), 0

    def encoded(self, start: int = 0) -> bytes:
        """The bytes of the file, from the entry in slot `start` on."""
        pairs = array("I", bytes((len(self._relative) - start) * ENTRY_SIZE_BYTES))
        pairs[0::2] = self._relative[start:]
        pairs[1::2] = self._positions[start:]
        if _SWAP:
            pairs.byteswap()
        return pairs.tobytes()
