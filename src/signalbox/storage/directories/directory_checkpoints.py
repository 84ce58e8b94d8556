"""The checkpoint files of one log directory, and what they hold: written at once, or in the thread of the disk.

A rename over an existing file makes some file systems (ext4) allocate and submit the new content first: 20 to 50 ms on
a busy disk. So the checkpoints that are written every few seconds are replaced in a thread. A file always ends with the
content that was given last: a write in the thread that comes too late is left out.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping

from signalbox.common.ids import TopicPartition
from signalbox.storage.files.checkpoint_file import checkpoint_text, offset_lines, read_offsets
from signalbox.storage.files.file_system import FileSystem, replace_file

Offsets = Mapping[TopicPartition, int]


class DirectoryCheckpoints:
    """Belongs to the node's thread, except the work that `prepare` returns."""

    def __init__(self, folder: str, file_system: FileSystem) -> None:
        self._folder = folder
        self._file_system = file_system
        self._given: dict[str, dict[TopicPartition, int]] = {}  # by file: in it, or about to be
        self._numbers: dict[str, int] = {}  # of the last content given, by file
        self._lock = threading.Lock()  # around each write of a file

    def read(self, name: str) -> dict[TopicPartition, int]:
        """The content of a checkpoint. CheckpointFault if it is corrupt."""
        self._given[name] = read_offsets(self._path(name))
        return dict(self._given[name])

    def has_read(self, name: str) -> bool:
        """Whether the checkpoint exists and was intact."""
        return name in self._given and os.path.exists(self._path(name))

    def given(self, name: str) -> Offsets:
        """The content that was given last."""
        return self._given.get(name, {})

    def is_any_above(self, topic_partition: TopicPartition, offset: int) -> bool:
        """Whether a checkpoint has a higher offset for the partition."""
        return any(offsets.get(topic_partition, -1) > offset for offsets in self._given.values())

    def write(self, name: str, offsets: Offsets, sync: bool) -> None:
        """Replaces a checkpoint now, unless it has this content and need not be synced. OSError. Yields."""
        if sync or self._given.get(name) != offsets:
            self._work(name, offsets, sync)()

    def prepare(self, name: str, offsets: Offsets) -> Callable[[], None] | None:
        """The work that replaces a checkpoint, for a thread; None if it has this content. The work raises OSError.
        Yields."""
        return None if self._given.get(name) == offsets else self._work(name, offsets, sync=False)

    def forget(self, name: str) -> None:
        """The work that was prepared for a checkpoint is not done: the same content is written again."""
        self._given.pop(name, None)

    def _work(self, name: str, offsets: Offsets, sync: bool) -> Callable[[], None]:
        """Yields."""
        data = checkpoint_text(offset_lines(offsets)).encode()
        number = self._numbers[name] = self._numbers.get(name, 0) + 1
        self._given[name] = dict(offsets)

        def replace() -> None:
            with self._lock:
                if self._numbers[name] != number:
                    return
                try:
                    replace_file(self._file_system, self._path(name), data, sync)
                except OSError:
                    self._given.pop(name, None)  # the same content is written again
                    raise

        return replace

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)
