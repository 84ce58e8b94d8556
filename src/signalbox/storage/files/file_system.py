"""The disk as a port: the eleven calls that can fail and that tests make fail, and whether files can be opened.

Positions and sizes are bytes; every method raises OSError. The loaders list folders with `os.scandir`: a listing that
fails means that the folder does not exist, which needs no fault injection.
"""

from __future__ import annotations

import ctypes
import os
from typing import Protocol

from signalbox.storage.files.spare_descriptors import SpareDescriptors

Buffer = bytes | bytearray | memoryview

# Python has posix_fallocate only, which makes the file longer: what follows the last batch would be zeros.
_libc = ctypes.CDLL(None, use_errno=True)
_libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
_KEEP_SIZE = 1


class FileSystem(Protocol):
    def open(self, path: str, create: bool = False) -> int:
        """A descriptor for reading and writing; FileNotFoundError unless `create`."""
        ...

    def close(self, fd: int) -> None: ...

    def pread(self, fd: int, size: int, position: int) -> bytes:
        """At most `size` bytes; fewer only at the end of the file."""
        ...

    def pwrite(self, fd: int, data: Buffer, position: int) -> int:
        """The number of bytes written, which may be fewer than `data` has."""
        ...

    def fsync(self, fd: int) -> None: ...

    def truncate(self, fd: int, size: int) -> None: ...

    def reserve(self, fd: int, size: int) -> None:
        """Takes the blocks for the first `size` bytes of a file, whose size stays as it is. `truncate` gives back what
        is behind the end."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Atomic within a file system; replaces a file of the new name."""
        ...

    def remove(self, path: str) -> None:
        """Removes a file or an empty folder."""
        ...

    def make_directory(self, path: str) -> None:
        """Creates a folder with its parents; does nothing if it exists."""
        ...

    def sync_directory(self, path: str) -> None:
        """Makes renames and removals in a folder durable."""
        ...

    def is_short(self) -> bool:
        """Whether so few file descriptors are left that no operation that needs one should begin."""
        ...


class RealFileSystem:
    """The operating system's file system. Reads and writes are plain system calls: they are on the fast path. In a
    broker it has `spare` descriptors."""

    pread = staticmethod(os.pread)
    pwrite = staticmethod(os.pwrite)
    close = staticmethod(os.close)
    fsync = staticmethod(os.fsync)
    truncate = staticmethod(os.ftruncate)

    def __init__(self, spare: SpareDescriptors | None = None) -> None:
        self._spare = spare or SpareDescriptors(0)

    def open(self, path: str, create: bool = False) -> int:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return self._spare.open(path, flags)

    def reserve(self, fd: int, size: int) -> None:
        if _libc.fallocate(fd, _KEEP_SIZE, 0, size):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def rename(self, old: str, new: str) -> None:
        os.replace(old, new)

    def remove(self, path: str) -> None:
        try:
            os.unlink(path)
        except IsADirectoryError:
            os.rmdir(path)

    def make_directory(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def sync_directory(self, path: str) -> None:
        fd = self._spare.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def is_short(self) -> bool:
        return self._spare.is_short()


def write_fully(file_system: FileSystem, fd: int, data: Buffer, position: int) -> None:
    """Writes all of `data` and continues after short writes; a full disk raises OSError."""
    done = file_system.pwrite(fd, data, position)
    while done < len(data):
        with memoryview(data) as view:
            done += file_system.pwrite(fd, view[done:], position + done)


def replace_file(file_system: FileSystem, path: str, data: bytes, sync: bool = False) -> None:
    """Replaces the file at `path` by `data`: readers see the old or the new content, never a part.

    With `sync` the content also survives a power failure; without it, it survives the end of the process.
    """
    temporary = path + ".tmp"
    fd = file_system.open(temporary, create=True)
    try:
        file_system.truncate(fd, 0)
        write_fully(file_system, fd, data, 0)
        if sync:
            file_system.fsync(fd)
    finally:
        file_system.close(fd)
    file_system.rename(temporary, path)
    if sync:
        file_system.sync_directory(os.path.dirname(path))
