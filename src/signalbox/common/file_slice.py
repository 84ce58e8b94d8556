"""A part of a file that stands for bytes in a response.

Storage creates it, the codec does not change it, transport sends it (sendfile, mmap or pread). Without TLS the bytes of
a large slice never enter the Python heap. `owner` keeps the open file alive until the slice is sent, even if the
segment is closed or deleted meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol


class FileSlice:
    """`size` bytes at `position` of the open file `fd`."""

    __slots__ = ("fd", "owner", "position", "size")

    def __init__(self, fd: int, position: int, size: int, owner: object = None) -> None:
        self.fd = fd
        self.position = position
        self.size = size
        self.owner = owner

    def __len__(self) -> int:
        return self.size

    def read(self) -> bytes:
        """The bytes themselves, for TLS, for tests and for small responses. Short only if the file was truncated."""
        return os.pread(self.fd, self.size, self.position)

    def __repr__(self) -> str:
        return f"FileSlice(fd={self.fd}, position={self.position}, size={self.size})"


IsResident = Callable[[FileSlice], bool]
"""Whether the next bytes of a slice can be read without waiting for a disk."""


class NotInPageCache(Exception):
    """A read would wait for the disk. `piece` is what it needs."""

    def __init__(self, piece: FileSlice) -> None:
        super().__init__(piece)
        self.piece = piece


class PageReads(Protocol):
    """Detects slices that are not in the page cache, and reads them outside of the event loop."""

    def is_resident(self, piece: FileSlice) -> bool:
        """Whether the next bytes of `piece` can be read without waiting for a disk."""
        ...

    def prefetch(self, piece: FileSlice, done: Callable[[], None]) -> None:
        """Reads the next bytes of `piece` into the page cache; `done` is called on the loop, also after an error."""
        ...


class AllResident:
    """Files that are always in memory: reads wait where they are."""

    def is_resident(self, piece: FileSlice) -> bool:
        return True

    def prefetch(self, piece: FileSlice, done: Callable[[], None]) -> None:
        done()
