"""One entry of `log.dirs`: its files, its checkpoints, and whether it can still be trusted.

The first I/O error takes the whole directory offline (as in Kafka): every partition in it answers
KAFKA_STORAGE_ERROR from then on, nothing is written any more, and the owner is told once through `on_offline`.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from signalbox.common.clock import Clock
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.background import Background
from signalbox.storage.checkpoint_file import CheckpointFault, read_offsets, write_offsets
from signalbox.storage.file_names import LOCK_FILE
from signalbox.storage.removals import Removals
from signalbox.storage.segment import Disk

logger = logging.getLogger(__name__)


class AwaitsWrite(Protocol):
    """A log with batches that are accepted but not in its file yet."""

    def complete_group(self) -> KafkaError | None: ...


class LogDirectoryLocked(RuntimeError):
    """Another process works in this directory."""


class LogDirectory:
    """`awaiting_write` are the logs with queued batches of this turn of the loop."""

    def __init__(
        self,
        path: str,
        disk: Disk,
        background: Background,
        clock: Clock,
        on_offline: Callable[[LogDirectory], None] = lambda directory: None,
    ) -> None:
        self.path = path
        self.disk = disk
        self.background = background
        self.removals = Removals(disk.file_system, background, clock)
        self.awaiting_write: list[AwaitsWrite] = []
        self.directory_id = b""
        self.offline_reason: str | None = None
        self._clock = clock
        self._on_offline = on_offline
        self._lock_fd = -1
        self.checkpoint_due = False  # a checkpoint on disk says more than is true
        self.correct_checkpoints: Callable[[], None] = lambda: None
        self._written: dict[str, dict[TopicPartition, int]] = {}

    @property
    def online(self) -> bool:
        return self.offline_reason is None

    def lock(self) -> None:
        """Takes the directory for this broker; LogDirectoryLocked when somebody else has it, OSError when it cannot
        be made."""
        try:
            self.disk.file_system.make_directory(self.path)
        except ValueError as error:  # a NUL in it: no name of a folder at all
            raise OSError(errno.EINVAL, str(error), self.path) from error
        fd = os.open(os.path.join(self.path, LOCK_FILE), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            raise LogDirectoryLocked(
                f"log.dirs: {self.path} is in use by another broker; stop that one or give this one its own folder"
            ) from error
        self._lock_fd = fd

    def unlock(self) -> None:
        """Lets others have the directory."""
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def fail(self, error: OSError, doing: str) -> KafkaError:
        """Takes the directory offline; gives the error to answer with."""
        if self.offline_reason is None:
            self.offline_reason = f"{doing}: {error}"
            logger.error("log directory %s goes offline: %s", self.path, self.offline_reason)
            self._on_offline(self)
        return KafkaError(Error.KAFKA_STORAGE_ERROR, f"log directory {self.path} is offline: {self.offline_reason}")

    def refusing(self, reason: str) -> LogDirectory:
        """A stand-in for one log that is gone from here: offline from the start, and nobody is told."""
        stand_in = LogDirectory(self.path, self.disk, self.background, self._clock)
        stand_in.offline_reason = reason
        return stand_in

    def refuse_offline(self) -> None:
        """KafkaError when the directory is offline."""
        if self.offline_reason is not None:
            raise KafkaError(Error.KAFKA_STORAGE_ERROR, f"log directory {self.path} is offline: {self.offline_reason}")

    @contextmanager
    def guard(self, doing: str) -> Iterator[None]:
        """Around I/O: refuses when offline, goes offline on an OSError; both are KAFKA_STORAGE_ERROR."""
        self.refuse_offline()
        try:
            yield
        except OSError as error:
            raise self.fail(error, doing) from error

    def read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        """A checkpoint of this directory; a broken one counts as absent, which costs time but loses nothing."""
        try:
            self._written[name] = read_offsets(os.path.join(self.path, name))
            return dict(self._written[name])
        except CheckpointFault as fault:
            logger.warning("%s; going on without it", fault)
            return {}

    def went_back(self, topic_partition: TopicPartition, end_offset: int) -> None:
        """A log ends at `end_offset` now, or is gone (-1): a start must not believe in more than that.

        The next start would otherwise take a stale log start for a sign that newer records are missing.
        """
        if any(offsets.get(topic_partition, -1) > end_offset for offsets in self._written.values()):
            self.checkpoint_due = True

    def write_checkpoint(self, name: str, offsets: Mapping[TopicPartition, int], sync: bool = False) -> None:
        """Replaces a checkpoint of this directory, unless it says the same already."""
        if not sync and self._written.get(name) == offsets:
            return
        with self.guard(f"writing {name}"):
            write_offsets(self.disk.file_system, os.path.join(self.path, name), offsets, sync)
        self._written[name] = dict(offsets)
