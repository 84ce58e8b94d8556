"""Open files with a cap. A reader's slice keeps its file open by reference, whatever is closed or deleted meanwhile.

A segment that is written to owns its file. All other segments borrow theirs from `OpenFiles`, which lets go of the
one unused for longest when there are more than the cap (`limits.MAX_OPEN_SEGMENT_FILES`).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

from signalbox.common.limits import MAX_OPEN_SEGMENT_FILES
from signalbox.storage.file_system import FileSystem


class OpenFile:
    """A descriptor that closes itself when nobody refers to it any more."""

    __slots__ = ("_file_system", "fd")

    def __init__(self, file_system: FileSystem, path: str, create: bool = False) -> None:
        self._file_system = file_system
        self.fd = -1
        self.fd = file_system.open(path, create)

    def __del__(self) -> None:
        if self.fd >= 0:
            self._file_system.close(self.fd)


class Releasable(Protocol):
    """Something that holds open files or loaded indexes and can get them back later."""

    def release(self) -> None: ...


class OpenFiles:
    """The closed segments that currently hold resources, least recently used first."""

    __slots__ = ("_capacity", "_holders")

    def __init__(self, capacity: int = MAX_OPEN_SEGMENT_FILES) -> None:
        self._capacity = capacity
        self._holders: OrderedDict[Releasable, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._holders)

    def touch(self, holder: Releasable) -> None:
        """`holder` is in use: it moves to the end, and the first lets go when there are too many."""
        self._holders[holder] = None
        self._holders.move_to_end(holder)
        if len(self._holders) > self._capacity:
            oldest, _ = self._holders.popitem(last=False)
            oldest.release()

    def forget(self, holder: Releasable) -> None:
        """`holder` is gone or looks after itself from now on."""
        self._holders.pop(holder, None)
