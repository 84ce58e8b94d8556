"""A file system that fails on demand: full disks, I/O errors, short writes. For tests and for drills.

A rule has an operation (a method of the port), a part of the path and an errno, and takes effect after a number of
calls. `capacity_bytes` limits how much can still be written: the write that exceeds it is short and the next one gets
ENOSPC, as on a real disk.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass

from signalbox.storage.files.file_system import Buffer, FileSystem, RealFileSystem


@dataclass(slots=True)
class FaultRule:
    """Fail `operation` on paths that contain `path_part` with `error_number`, after `skip` successful calls."""

    operation: str
    error_number: int = errno.EIO
    path_part: str = ""
    skip: int = 0


class FaultyFileSystem:
    """Passes every call to `inner` unless a rule or the capacity prevents it. `calls` counts by operation."""

    def __init__(self, inner: FileSystem | None = None) -> None:
        self._inner = inner or RealFileSystem()
        self._paths: dict[int, str] = {}
        self.rules: list[FaultRule] = []
        self.capacity_bytes: int | None = None
        self.calls: dict[str, int] = {}

    def fail(self, operation: str, error_number: int = errno.EIO, path_part: str = "", skip: int = 0) -> None:
        """Adds a rule; it stays until `heal`."""
        self.rules.append(FaultRule(operation, error_number, path_part, skip))

    def heal(self) -> None:
        """Removes all rules and the limit."""
        self.rules.clear()
        self.capacity_bytes = None

    def open(self, path: str, create: bool = False) -> int:
        self._apply_rules("open", path)
        fd = self._inner.open(path, create)
        self._paths[fd] = path
        return fd

    def close(self, fd: int) -> None:
        self._apply_rules("close", self._paths.pop(fd, ""))
        self._inner.close(fd)

    def pread(self, fd: int, size: int, position: int) -> bytes:
        self._apply_rules("pread", self._paths.get(fd, ""))
        return self._inner.pread(fd, size, position)

    def pwrite(self, fd: int, data: Buffer, position: int) -> int:
        self._apply_rules("pwrite", self._paths.get(fd, ""))
        if self.capacity_bytes is None:
            return self._inner.pwrite(fd, data, position)
        if self.capacity_bytes <= 0:
            raise _error(errno.ENOSPC, self._paths.get(fd, ""))
        with memoryview(data) as view:
            written = self._inner.pwrite(fd, view[: self.capacity_bytes], position)
        self.capacity_bytes -= written
        return written

    def fsync(self, fd: int) -> None:
        self._apply_rules("fsync", self._paths.get(fd, ""))
        self._inner.fsync(fd)

    def truncate(self, fd: int, size: int) -> None:
        self._apply_rules("truncate", self._paths.get(fd, ""))
        self._inner.truncate(fd, size)

    def reserve(self, fd: int, size: int) -> None:
        self._apply_rules("reserve", self._paths.get(fd, ""))
        self._inner.reserve(fd, size)

    def rename(self, old: str, new: str) -> None:
        self._apply_rules("rename", old)
        self._inner.rename(old, new)

    def remove(self, path: str) -> None:
        self._apply_rules("remove", path)
        self._inner.remove(path)

    def make_directory(self, path: str) -> None:
        self._apply_rules("make_directory", path)
        self._inner.make_directory(path)

    def sync_directory(self, path: str) -> None:
        self._apply_rules("sync_directory", path)
        self._inner.sync_directory(path)

    def is_short(self) -> bool:
        return self._inner.is_short()

    def _apply_rules(self, operation: str, path: str) -> None:
        self.calls[operation] = self.calls.get(operation, 0) + 1
        for rule in self.rules:
            if rule.operation == operation and rule.path_part in path:
                if rule.skip > 0:
                    rule.skip -= 1
                else:
                    raise _error(rule.error_number, path)


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
