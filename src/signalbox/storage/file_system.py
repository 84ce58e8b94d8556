"""The disk as a port: the ten calls that can fail and that tests want to see failing.

Positions and sizes are bytes; every method raises OSError. Folders are listed with `os.scandir` by the loaders:
a listing that fails means that the folder is not there, which needs no fault injection.
"""

from __future__ import annotations

import os
from typing import Protocol

Buffer = bytes | bytearray | memoryview


class FileSystem(Protocol):
    def open(self, path: str, create: bool = False) -> int:
        """A descriptor for reading and writing; FileNotFoundError unless `create`."""
        ...

    def close(self, fd: int) -> None: ...

    def pread(self, fd: int, size: int, position: int) -> bytes:
        """At most `size` bytes; fewer only at the end of the file."""
        ...

    def pwrite(self, fd: int, data: Buffer, position: int) -> int:
        """The number of bytes written, which may be fewer than given."""
        ...

    def fsync(self, fd: int) -> None: ...

    def truncate(self, fd: int, size: int) -> None: ...

    def rename(self, old: str, new: str) -> None:
        """Atomic within a file system; replaces a file of the new name."""
        ...

    def remove(self, path: str) -> None:
        """Removes a file or an empty folder."""
        ...

    def make_directory(self, path: str) -> None:
        """Creates a folder with its parents; nothing happens when it exists."""
        ...

    def sync_directory(self, path: str) -> None:
        """Makes renames and removals in a folder durable."""
        ...


class RealFileSystem:
    """The operating system's. Reads and writes are the bare system calls: they are on the hot path."""

    pread = staticmethod(os.pread)
    pwrite = staticmethod(os.pwrite)
    close = staticmethod(os.close)
    fsync = staticmethod(os.fsync)
    truncate = staticmethod(os.ftruncate)

    def open(self, path: str, create: bool = False) -> int:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return os.open(path, flags, 0o644)

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
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def write_whole(file_system: FileSystem, fd: int, data: Buffer, position: int) -> None:
    """Writes all of `data`, going on after short writes; a disk that takes nothing more raises by itself."""
    done = file_system.pwrite(fd, data, position)
    while done < len(data):
        with memoryview(data) as view:
            done += file_system.pwrite(fd, view[done:], position + done)


def replace_file(file_system: FileSystem, path: str, data: bytes, sync: bool = False) -> None:
    """Puts `data` in the place of the file at `path`: readers see the old or the new content, never a part.

    With `sync` the content also survives a power cut; without it it survives the death of the process.
    """
    temporary = path + ".tmp"
    fd = file_system.open(temporary, create=True)
    try:
        file_system.truncate(fd, 0)
        write_whole(file_system, fd, data, 0)
        if sync:
            file_system.fsync(fd)
    finally:
        file_system.close(fd)
    file_system.rename(temporary, path)
    if sync:
        file_system.sync_directory(os.path.dirname(path))
