"""File descriptors that storage keeps in reserve: if none is left, that is not a fault of the disk.

The listeners leave descriptors for files (`network/acceptors/descriptors.py`), but a broker may also have more files
than its limit allows. An operation on the files of a log that has begun must then be completed, or memory and disk
would differ: an `open` that finds no descriptor takes a spare one. If fewer than half of the spare ones are left, no
new operation begins (`LogDirectory.guard`) and closed segments release their files (`OpenFiles`). The reserve is filled
up when descriptors are free again.
"""

from __future__ import annotations

import errno
import os
import resource

from signalbox.common.limits import SPARE_STORAGE_DESCRIPTORS
from signalbox.protocol.error_table import Error, KafkaError

_LIMIT_PER_SPARE = 32  # at most one of this many descriptors of the process is kept in reserve


class OutOfDescriptors(KafkaError):
    """Rejected because no descriptor is free: retriable, and the log directory stays online."""

    def __init__(self, operation: str) -> None:
        super().__init__(
            Error.KAFKA_STORAGE_ERROR,
            f"{operation}: no file descriptor is free. Raise ulimit -n, or have fewer partitions or connections",
        )


def is_out_of_descriptors(error: BaseException | None) -> bool:
    """Whether the process (EMFILE) or the machine (ENFILE) has no descriptor left."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


class SpareDescriptors:
    """Held from the start until `close`, or until nothing refers to the object. May be used from several threads."""

    def __init__(self, count: int = SPARE_STORAGE_DESCRIPTORS) -> None:
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._count = count if limit == resource.RLIM_INFINITY else min(count, limit // _LIMIT_PER_SPARE)
        self._held: list[int] = []
        self._fill()

    def open(self, path: str, flags: int, mode: int = 0o644) -> int:
        """`os.open`, with a spare descriptor if no other is free."""
        while True:
            try:
                return os.open(path, flags, mode)
            except OSError as error:
                if not is_out_of_descriptors(error) or not self._held:
                    raise
            os.close(self._held.pop())

    def is_short(self) -> bool:
        """Whether fewer than half of the spare descriptors are left and no others are free."""
        if len(self._held) < self._count:
            self._fill()
        return 2 * len(self._held) < self._count

    def close(self) -> None:
        """Release all descriptors and hold none from now on."""
        self._count = 0
        while self._held:
            os.close(self._held.pop())

    def __del__(self) -> None:
        self.close()

    def _fill(self) -> None:
        try:
            while len(self._held) < self._count:
                self._held.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        except OSError as error:
            if not is_out_of_descriptors(error):
                raise
