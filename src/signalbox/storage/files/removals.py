"""Files and folders to be removed: renamed at once, removed after `file.delete.delay.ms`, outside of the event loop.

The rename is decisive: a start after a crash removes everything with the suffix.
"""

from __future__ import annotations

import heapq
import logging
import os
from collections.abc import Iterable

from signalbox.common.clock import Clock
from signalbox.storage.files.background import Background
from signalbox.storage.files.file_names import DELETED_SUFFIX
from signalbox.storage.files.file_system import FileSystem

logger = logging.getLogger(__name__)


class Removals:
    """Paths by the time at which they are due."""

    def __init__(self, file_system: FileSystem, background: Background, clock: Clock) -> None:
        self._file_system = file_system
        self._background = background
        self._clock = clock
        self._due: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._due)

    def retire(self, paths: Iterable[str], delay_ms: int) -> None:
        """Renames the files that exist and schedules their removal."""
        for path in paths:
            try:
                self._file_system.rename(path, path + DELETED_SUFFIX)
            except FileNotFoundError:
                continue
            self.add(path + DELETED_SUFFIX, delay_ms)

    def add(self, path: str, delay_ms: int) -> None:
        """Schedules the removal of a file or folder that is already renamed."""
        heapq.heappush(self._due, (self._clock.now_ms() + delay_ms, path))

    def run_due(self, now_ms: int) -> None:
        """Passes everything that is due to the background."""
        while self._due and self._due[0][0] <= now_ms:
            _, path = heapq.heappop(self._due)
            self._background.run(lambda path=path: self.remove(path), self._done)  # type: ignore[misc]

    def remove(self, path: str) -> None:
        """Removes a file, or a folder with its content; does nothing if it does not exist."""
        try:
            if os.path.isdir(path):
                for name in os.listdir(path):
                    self.remove(os.path.join(path, name))
            self._file_system.remove(path)
        except FileNotFoundError:
            return

    def _done(self, error: BaseException | None) -> None:
        if error is not None:
            logger.warning("Deleted files cannot be removed until the next start: %s", error)
