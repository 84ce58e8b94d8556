"""One entry of `log.dirs`: its files, its checkpoints, its clean-shutdown marker, and whether it is online.

The first I/O error takes the whole directory offline (as in Kafka): every partition in it returns KAFKA_STORAGE_ERROR
from then on, nothing more is written, and `on_offline` is called once. If the process has no file descriptor left, that
is not a fault of the directory: the operation is rejected and the directory stays online.

`.kafka_cleanshutdown` is written last and removed first; without it the next start reads all logs. It has the broker
epoch of the run that ended with it. The controller regards a log directory as intact only if that is the last epoch
that it had for the broker (a directory restored from an older copy has an older epoch).
"""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from signalbox.common.clock import Clock
from signalbox.common.config.config_table import ConfigFault
from signalbox.common.config.start_error import reason
from signalbox.common.cooperative_task import no_yield
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.directories.directory_checkpoints import DirectoryCheckpoints
from signalbox.storage.files.background import Background
from signalbox.storage.files.checkpoint_file import CheckpointFault
from signalbox.storage.files.file_names import CLEAN_SHUTDOWN_FILE, LOCK_FILE
from signalbox.storage.files.file_system import FileSystem, replace_file
from signalbox.storage.files.removals import Removals
from signalbox.storage.files.spare_descriptors import OutOfDescriptors, is_out_of_descriptors
from signalbox.storage.segments.segment import Disk

logger = logging.getLogger(__name__)

UNKNOWN_BROKER_EPOCH = -1

_WARNING_INTERVAL_S = 10.0  # between two log lines about the same shortage


class AwaitsWrite(Protocol):
    """A log with batches that are accepted but not in its file yet."""

    @property
    def writes_in_pieces(self) -> bool: ...

    def complete_group(self) -> KafkaError | None: ...


class LogDirectoryLocked(RuntimeError):
    """Another process uses this directory."""


class LogDirectory:
    """`awaiting_write` are the logs with queued batches of this loop iteration."""

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
        self.previous_broker_epoch = UNKNOWN_BROKER_EPOCH  # of the last run if it ended cleanly, else -1
        self.offline_reason: str | None = None
        self._clock = clock
        self._on_offline = on_offline
        self._lock_fd = -1
        self._next_warning_s = 0.0  # until then, no further log line about descriptors
        self.checkpoint_due = False  # a checkpoint on disk has a value that is too high
        self.correct_checkpoints: Callable[[], None] = lambda: None
        self._checkpoints = DirectoryCheckpoints(path, disk.file_system)

    @property
    def online(self) -> bool:
        return self.offline_reason is None

    def lock(self) -> None:
        """Locks the directory for this broker; LogDirectoryLocked if another process has it, OSError if it cannot be
        created."""
        try:
            self.disk.file_system.make_directory(self.path)
        except ValueError as error:  # a NUL character in the path: not a valid name
            raise OSError(errno.EINVAL, str(error), self.path) from error
        # Of its owner alone: flock needs only an open file, so another user could keep the broker from starting.
        fd = os.open(os.path.join(self.path, LOCK_FILE), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(fd).st_uid == os.geteuid():
                os.fchmod(fd, 0o600)  # it may be that of an older version, or of Kafka
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
        """Releases the lock on the directory."""
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1

    def fail(self, error: OSError, operation: str) -> KafkaError:
        """Takes the directory offline, unless only descriptors are missing; returns the error for the response."""
        if is_out_of_descriptors(error):
            return self._out_of_descriptors(operation)
        if self.offline_reason is None:
            self.offline_reason = f"{operation}: {error}"
            logger.error("Log directory %s goes offline: %s", self.path, self.offline_reason)
            self._on_offline(self)
        return KafkaError(Error.KAFKA_STORAGE_ERROR, f"log directory {self.path} is offline: {self.offline_reason}")

    def offline_copy(self, reason: str) -> LogDirectory:
        """A stand-in for one log that is deleted or closed: offline from the start, without a call of `on_offline`."""
        directory = LogDirectory(self.path, self.disk, self.background, self._clock)
        directory.offline_reason = reason
        return directory

    def reject_offline(self) -> None:
        """KafkaError when the directory is offline."""
        if self.offline_reason is not None:
            raise KafkaError(Error.KAFKA_STORAGE_ERROR, f"log directory {self.path} is offline: {self.offline_reason}")

    def _out_of_descriptors(self, operation: str) -> OutOfDescriptors:
        rejection, now = OutOfDescriptors(operation), self._clock.monotonic()
        if now >= self._next_warning_s:
            self._next_warning_s = now + _WARNING_INTERVAL_S
            logger.warning(
                "Log directory %s stays online, requests whose files cannot be opened are rejected: %s",
                self.path,
                rejection.message,
            )
        return rejection

    @contextmanager
    def guard(self, operation: str) -> Iterator[None]:
        """For I/O: rejects if the directory is offline, or if too few descriptors are left to complete the operation;
        goes offline on an OSError. All of them are KAFKA_STORAGE_ERROR."""
        self.reject_offline()
        if self.disk.file_system.is_short():
            raise self._out_of_descriptors(operation)
        try:
            yield
        except OSError as error:
            raise self.fail(error, operation) from error

    def read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        """A checkpoint of this directory; a broken one counts as absent, which costs time but loses nothing."""
        try:
            return self._checkpoints.read(name)
        except CheckpointFault as fault:
            logger.warning("Checkpoint file is corrupt and ignored: %s", fault)
            return {}

    def has_read_checkpoint(self, name: str) -> bool:
        """Whether the checkpoint exists and was intact: then a partition that it does not name has no such offset."""
        return self._checkpoints.has_read(name)

    def mark_checkpoints_stale(self, topic_partition: TopicPartition, end_offset: int) -> None:
        """A log now ends at `end_offset`, or is deleted (-1): no checkpoint on disk may be above that.

        Otherwise the next start would take a stale log start offset as a sign that newer records are missing.
        """
        if self._checkpoints.is_any_above(topic_partition, end_offset):
            self.checkpoint_due = True

    def write_checkpoint(self, name: str, offsets: Mapping[TopicPartition, int], sync: bool = False) -> None:
        """Replaces a checkpoint of this directory, unless it has the same content already. Yields."""
        with self.guard(f"writing {name}"):
            self._checkpoints.write(name, offsets, sync)

    def write_checkpoint_later(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        """The same in the thread of the disk. Yields."""
        with self.guard(f"writing {name}"):
            work = self._checkpoints.prepare(name, offsets)

        def written(error: BaseException | None) -> None:
            if isinstance(error, OSError) and self.online:
                self.fail(error, f"writing {name}")

        if self.background.closed:
            self._checkpoints.forget(name)  # a task that was begun before the shutdown, which writes every checkpoint
        elif work is not None:
            self.background.run(work, written)

    def raise_checkpoint(self, name: str, topic_partition: TopicPartition, offset: int, sync: bool = False) -> None:
        """Replaces one offset of a checkpoint at once. Does not yield. KafkaError (KAFKA_STORAGE_ERROR)."""
        with no_yield():
            self.write_checkpoint(name, {**self._checkpoints.given(name), topic_partition: offset}, sync)


def read_and_remove_marker(file_system: FileSystem, log_dir: str) -> int | None:
    """The broker epoch that ended cleanly; UNKNOWN_BROKER_EPOCH if the marker has none; None if the last run did not
    end cleanly. The marker is removed."""
    path = os.path.join(log_dir, CLEAN_SHUTDOWN_FILE)
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return None
    file_system.remove(path)
    try:
        broker_epoch = json.loads(content)["brokerEpoch"]
    except (ValueError, TypeError, KeyError):  # Apache Kafka before 3.7 leaves it empty
        return UNKNOWN_BROKER_EPOCH
    return broker_epoch if isinstance(broker_epoch, int) else UNKNOWN_BROKER_EPOCH


def write_marker(file_system: FileSystem, log_dir: str, broker_epoch: int) -> None:
    """Writes the marker: everything in the directory is complete."""
    content = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    replace_file(file_system, os.path.join(log_dir, CLEAN_SHUTDOWN_FILE), content.encode(), sync=True)


def unusable(directory: LogDirectory, error: OSError | None) -> ConfigFault:
    """The reason why a start without this directory fails."""
    problem = f"cannot be used: {directory.offline_reason if error is None else reason(error)}"
    return ConfigFault("log.dirs", directory.path, problem, "Name a folder that this broker can create and write to")


def too_many_files(directory: LogDirectory, error: OSError | OutOfDescriptors) -> ConfigFault:
    """The reason why a start fails whose logs need more file descriptors than there are."""
    problem = f"not all of its files can be opened: {reason(error)}"
    return ConfigFault("log.dirs", directory.path, problem, "Raise the limit of open files (ulimit -n)")
