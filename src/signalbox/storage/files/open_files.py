"""Open files with a limit. A reader's slice keeps its file open by reference, even if it is closed or deleted
meanwhile.

The active segment owns its file. All other segments register their files with `OpenFiles`, which releases the least
recently used segment when there are more than the limit (`limits.MAX_OPEN_SEGMENT_FILES`), or when the process has few
descriptors left.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from signalbox.common.limits import MAX_OPEN_SEGMENT_FILES
from signalbox.storage.files.file_system import FileSystem


class OpenFile:
    """A descriptor that closes itself when nothing refers to it any more."""

    __slots__ = ("_file_system", "fd")

    def __init__(self, file_system: FileSystem, path: str, create: bool = False) -> None:
        self._file_system = file_system
        self.fd = -1
        self.fd = file_system.open(path, create)

    def __del__(self) -> None:
        if self.fd >= 0:
            self._file_system.close(self.fd)


class Releasable(Protocol):
    """An object with open files or loaded indexes that it can release and load again later."""

    def release(self) -> None: ...


class OpenFiles:
    """The closed segments that currently hold resources, least recently used first."""

    __slots__ = ("_capacity", "_holders", "_is_short")

    def __init__(self, capacity: int = MAX_OPEN_SEGMENT_FILES, is_short: Callable[[], bool] = lambda: False) -> None:
        self._capacity = capacity
        self._is_short = is_short
        self._holders: OrderedDict[Releasable, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._holders)

    def touch(self, holder: Releasable) -> None:
        """`holder` is in use: it moves to the end, and the least recently used ones are released if there are too
        many."""
        self._holders[holder] = None
        self._holders.move_to_end(holder)
        while len(self._holders) > self._capacity or (len(self._holders) > 1 and self._is_short()):
            oldest, _ = self._holders.popitem(last=False)
            oldest.release()

    def forget(self, holder: Releasable) -> None:
        """`holder` is deleted, or manages its own resources from now on."""
        self._holders.pop(holder, None)
