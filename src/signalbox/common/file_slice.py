"""A part of a file that stands for bytes in a response.

Storage creates it, the codec does not change it, transport sends it (sendfile, mmap or pread). Without TLS the bytes of
a large slice never enter the Python heap. `owner` keeps the open file alive until the slice is sent, even if the
segment is closed or deleted meanwhile.
"""

from __future__ import annotations

import os


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
