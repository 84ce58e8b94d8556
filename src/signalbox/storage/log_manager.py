"""All partition logs of a broker, in one or more log directories. The entry point of the storage package.

`start` opens the existing logs, `flush_appends` runs once per loop iteration, `close` writes the clean-shutdown
marker. A directory that fails goes offline alone; the broker continues with the others.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from signalbox.common.clock import Clock
from signalbox.common.config.start_error import StartError
from signalbox.common.cooperative_task import no_yield, yield_if_due, yielding
from signalbox.common.ids import ZERO_UUID, TopicPartition, new_uuid, partition_list
from signalbox.common.metrics import Metrics, NullMetrics
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.directories.log_directory import (
    UNKNOWN_BROKER_EPOCH,
    LogDirectory,
    read_and_remove_marker,
    too_many_files,
    unusable,
    write_marker,
)
from signalbox.storage.directories.log_move import MoveThrottle
from signalbox.storage.directories.log_moves import LogMoves
from signalbox.storage.directories.meta_properties import (
    OF_KRAFT,
    MetaProperties,
    claim_directory,
    write_meta_properties,
)
from signalbox.storage.directories.partition_folders import read_topic_id, write_topic_id
from signalbox.storage.files.background import Background, InlineBackground
from signalbox.storage.files.file_names import (
    DELETED_FOLDER_SUFFIX,
    FUTURE_FOLDER_SUFFIX,
    deleted_folder_name,
    lost_partitions,
    partition_of,
)
from signalbox.storage.files.file_system import FileSystem
from signalbox.storage.files.open_files import OpenFiles
from signalbox.storage.files.spare_descriptors import OutOfDescriptors, is_out_of_descriptors
from signalbox.storage.last_run import LastRuns
from signalbox.storage.log import Log
from signalbox.storage.log_checkpoints import (
    write_cleaner_offsets,
    write_gaps,
    write_high_watermarks,
    write_log_checkpoints,
)
from signalbox.storage.log_config import LogConfig
from signalbox.storage.log_loader import create_body, load_body
from signalbox.storage.log_metrics import LogMetrics
from signalbox.storage.segments.segment import Disk

logger = logging.getLogger(__name__)

ConfigOf = Callable[[str], LogConfig]


class LogManager:
    """`on_offline` is called once for every log directory that fails."""

    def __init__(
        self,
        log_dirs: Sequence[str],
        file_system: FileSystem,
        clock: Clock,
        background: Background | None = None,
        on_offline: Callable[[LogDirectory], None] = lambda directory: None,
        metrics: Metrics | None = None,
    ) -> None:
        self._clock = clock
        self._background = background or InlineBackground()
        disk = Disk(file_system, OpenFiles(is_short=file_system.is_short))
        self.directories = [
            LogDirectory(path, disk, self._background, clock, on_offline) for path in map(os.path.abspath, log_dirs)
        ]
        for directory in self.directories:
            directory.correct_checkpoints = partial(self._correct_checkpoints, directory)
        self._metrics = LogMetrics(metrics or NullMetrics(), self.directories)
        self._logs: dict[TopicPartition, Log] = {}
        self.moves = LogMoves(self._logs, self.directories, self._on_moved, MoveThrottle(clock.monotonic))

    # -- start and close ----------------------------------------------------------------------------------------

    def start(
        self, cluster_id: str, node_id: int, config_of: ConfigOf | None = None, *, meta_version: str = OF_KRAFT
    ) -> None:
        """Opens all existing logs; `config_of` returns the config of a topic. `meta_version`: of the `meta.properties`
        of a new directory.

        LogDirectoryLocked or MetaPropertiesFault if a directory belongs to another process, node or cluster; StartError
        with all reasons if no directory can be used.
        """
        try:
            owner = MetaProperties(cluster_id, node_id, version=meta_version)
            self._open_directories(owner, config_of or (lambda topic: LogConfig()))
        except BaseException:
            for directory in self.directories:
                directory.unlock()
            raise

    def _open_directories(self, owner: MetaProperties, config_of: ConfigOf) -> None:
        failed: dict[LogDirectory, OSError] = {}
        for directory in self.directories:
            try:
                self._open_directory(directory, owner, config_of)
            except OSError as error:
                if is_out_of_descriptors(error):
                    raise StartError([too_many_files(directory, error)]) from error
                failed[directory] = error
            except OutOfDescriptors as error:
                raise StartError([too_many_files(directory, error)]) from error
            except KafkaError as error:
                if error.error != Error.KAFKA_STORAGE_ERROR:
                    raise
        # A directory that goes offline is logged and reported. If no directory is left, only the StartError reports it.
        if all(directory in failed or not directory.online for directory in self.directories):
            raise StartError([unusable(directory, failed.get(directory)) for directory in self.directories])
        for directory, cause in failed.items():
            directory.fail(cause, "opening it")

    def _open_directory(self, directory: LogDirectory, owner: MetaProperties, config_of: ConfigOf) -> None:
        file_system = directory.disk.file_system
        directory.lock()
        meta = claim_directory(file_system, directory.path, owner)
        directory.directory_id = meta.directory_id
        clean_broker_epoch = read_and_remove_marker(file_system, directory.path)
        directory.previous_broker_epoch = UNKNOWN_BROKER_EPOCH if clean_broker_epoch is None else clean_broker_epoch
        last_runs = LastRuns(directory, clean_broker_epoch is not None)
        names = sorted(os.listdir(directory.path))
        lost = lost_partitions(last_runs.partitions, names)
        if lost:
            # Before any checkpoint is replaced: after that, only the directory id shows that partitions are missing.
            directory.directory_id = new_uuid()
            write_meta_properties(file_system, directory.path, replace(meta, directory_id=directory.directory_id))
            directory.previous_broker_epoch = UNKNOWN_BROKER_EPOCH
            logger.warning(
                "Log directory %s has lost the folders of %d partitions (%s): it is registered as a new one",
                directory.path,
                len(lost),
                partition_list(lost),
            )
        for name in names:
            folder = os.path.join(directory.path, name)
            if name.endswith((DELETED_FOLDER_SUFFIX, FUTURE_FOLDER_SUFFIX)):
                directory.removals.add(folder, 0)
                continue
            topic_partition = partition_of(name)
            if topic_partition is None or not os.path.isdir(folder):
                continue
            config = config_of(topic_partition.topic)
            body, end_offset = load_body(folder, directory, config, last_runs.of(topic_partition, config))
            log = Log(topic_partition, read_topic_id(folder), body, end_offset)
            log.restore_high_watermark(last_runs.high_watermarks.get(topic_partition, 0))
            if body.has_unexpected_end:  # the marker claims a complete log: the controller would regard it as intact
                directory.previous_broker_epoch = UNKNOWN_BROKER_EPOCH
            self._add_loaded(log)
        if not last_runs.gaps_are_known:  # from now on, the gaps that a log may have are known
            write_gaps(directory, self._logs_in(directory), sync=True)

    def _add_loaded(self, log: Log) -> None:
        """Adds a log that was found. If it was found twice, a move was interrupted after its copy was complete: the
        copy that was in use since then has the later leader epoch or end offset."""
        existing = self._logs.get(log.topic_partition)
        if existing is not None and _epoch_and_end_offset(existing) >= _epoch_and_end_offset(log):
            logger.warning(
                "Partition %s is in two log directories: the copy in %s is deleted",
                log.topic_partition,
                log.body.folder,
            )
            self._retire_log(log)
            return
        self._logs[log.topic_partition] = log
        self._metrics.added(log)
        if existing is not None:
            logger.warning(
                "Partition %s is in two log directories: the copy in %s is deleted",
                log.topic_partition,
                existing.body.folder,
            )
            self._metrics.removed(existing)
            self._retire_log(existing)

    def close(self, broker_epoch: int = -1) -> None:
        """Makes everything durable and marks the shutdown as clean where that succeeded. Yields."""
        self.moves.cancel_all()
        self.flush_appends()
        unclean = set()
        for log in self:
            try:
                log.close()
            except KafkaError:
                unclean.add(log.body.directory)  # the next start recovers it
        self._background.close()
        for directory in self.directories:
            if directory.online and directory not in unclean:
                self._mark_clean_shutdown(directory, broker_epoch)
            directory.unlock()

    def _mark_clean_shutdown(self, directory: LogDirectory, broker_epoch: int) -> None:
        """Yields."""
        try:
            self._checkpoint_directory(directory, sync=True)
            write_marker(directory.disk.file_system, directory.path, broker_epoch)
        except OSError as error:
            directory.fail(error, "marking the shutdown as clean")
        except KafkaError:
            return  # without the marker the next start reads the logs

    # -- logs ---------------------------------------------------------------------------------------------------

    def get(self, topic_partition: TopicPartition) -> Log | None:
        """The log of a partition, None if this broker has none."""
        return self._logs.get(topic_partition)

    def is_offline(self, topic_partition: TopicPartition) -> bool:
        """Whether the partition's log is in a directory that failed."""
        log = self._logs.get(topic_partition)
        return log is not None and not log.online

    @property
    def has_online_directory(self) -> bool:
        """Whether any log directory is online; without one the broker cannot continue."""
        return any(directory.online for directory in self.directories)

    def __iter__(self) -> Iterator[Log]:
        return iter(list(self._logs.values()))

    def __len__(self) -> int:
        return len(self._logs)

    def create(self, topic_partition: TopicPartition, topic_id: bytes, config: LogConfig, is_new: bool = True) -> Log:
        """The log of a partition, created if there is none. Yields between the files, so only one caller at a time.
        KafkaError:

        KAFKA_STORAGE_ERROR if no directory is online, or if the log may be in an offline one (not `is_new`);
        INCONSISTENT_TOPIC_ID if the folder holds another topic of this name.
        """
        log = self._logs.get(topic_partition)
        if log is None:
            directory = self._directory_for_new(topic_partition, is_new)
            folder = os.path.join(directory.path, str(topic_partition))
            with directory.guard(f"creating {folder}"):
                body = create_body(folder, directory, config)
            yield_if_due()
            if topic_id != ZERO_UUID:
                with directory.guard(f"writing the topic id of {topic_partition}"):
                    write_topic_id(directory.disk.file_system, folder, topic_id)
            yield_if_due()
            log = self._logs[topic_partition] = Log(topic_partition, topic_id, body, 0)
            self._metrics.added(log)
        elif topic_id not in (log.topic_id, ZERO_UUID):
            if log.topic_id != ZERO_UUID:
                raise KafkaError(Error.INCONSISTENT_TOPIC_ID, f"{topic_partition} on disk belongs to another topic id")
            with log.body.directory.guard(f"writing the topic id of {topic_partition}"):
                write_topic_id(log.body.directory.disk.file_system, log.body.folder, topic_id)
            log.topic_id = topic_id
        return log

    def delete(self, topic_partition: TopicPartition) -> None:
        """Removes a log: its folder is renamed at once and removed later. Does nothing if there is no such log."""
        self.moves.cancel(topic_partition)
        log = self._logs.pop(topic_partition, None)
        if log is None:
            return
        self._metrics.removed(log)
        with log.body.directory.guard(f"deleting {log.body.folder}"):
            self._retire_log(log)

    def _retire_log(self, log: Log) -> None:
        log.abandon()
        _retire_folder(log, log.body.directory, log.body.folder)

    def _on_moved(self, log: Log, directory: LogDirectory, folder: str) -> None:
        """A log was moved: deletes the old files and corrects the checkpoints of both directories. Yields."""
        try:
            self._checkpoint_directory(log.body.directory)
            with directory.guard(f"deleting {folder}"):
                _retire_folder(log, directory, folder)
            self._checkpoint_directory(directory)
        except KafkaError as error:
            logger.error("Old files of partition %s, which was moved, not deleted: %s", log.topic_partition, error)

    def _directory_for_new(self, topic_partition: TopicPartition, is_new: bool) -> LogDirectory:
        online = [directory for directory in self.directories if directory.online]
        if not online or (len(online) < len(self.directories) and not is_new):
            raise KafkaError(Error.KAFKA_STORAGE_ERROR, f"{topic_partition}: a log directory is offline")
        if (requested := self.moves.requested_directory(topic_partition)) is not None:
            return requested
        if len(online) == 1:
            return online[0]
        log_counts = {id(directory): 0 for directory in online}
        for log in self._logs.values():
            log_counts[id(log.body.directory)] = log_counts.get(id(log.body.directory), 0) + 1
        return min(online, key=lambda directory: log_counts[id(directory)])

    def _logs_in(self, directory: LogDirectory) -> list[Log]:
        return [log for log in self._logs.values() if log.body.directory is directory]

    # -- once per loop iteration, and periodically ----------------------------------------------------------------

    def flush_appends(self) -> None:
        """Writes what the logs have queued and calls the callbacks. Never raises: the callbacks receive errors."""
        for directory in self.directories:
            while directory.awaiting_write:
                waiting, directory.awaiting_write = directory.awaiting_write, []
                for log in waiting:
                    log.complete_group()

    def flush_complete_groups(self) -> None:
        """As `flush_appends`, but a log that is writing a large group in pieces keeps its place: the task that appended
        the group calls this again."""
        for directory in self.directories:
            incomplete = []
            try:
                while directory.awaiting_write:
                    waiting, directory.awaiting_write = directory.awaiting_write, []
                    for log in waiting:
                        if log.writes_in_pieces:
                            incomplete.append(log)
                        else:
                            log.complete_group()
            finally:
                directory.awaiting_write[:0] = incomplete

    def _correct_checkpoints(self, directory: LogDirectory) -> None:
        try:
            with no_yield():  # in the middle of an append
                self._checkpoint_directory(directory)
        except KafkaError:
            return  # offline: the callbacks of the writes receive the error

    def checkpoint(self) -> None:
        """Saves recovery points, log start offsets and high watermarks of all directories that are online, in the
        thread of the disk. Yields."""
        for directory in self.directories:
            if directory.online:
                write_log_checkpoints(directory.write_checkpoint_later, self._logs_in(directory))
                write_cleaner_offsets(directory.write_checkpoint_later, self._logs_in(directory))
                write_gaps(directory, self._logs_in(directory), sync=False)

    def checkpoint_high_watermarks(self) -> None:
        """Saves the high watermarks only, in the thread of the disk. Yields."""
        for directory in self.directories:
            if directory.online:
                write_high_watermarks(directory.write_checkpoint_later, self._logs_in(directory))

    def _checkpoint_directory(self, directory: LogDirectory, sync: bool = False) -> None:
        """Yields."""
        write_log_checkpoints(partial(directory.write_checkpoint, sync=sync), self._logs_in(directory))
        write_cleaner_offsets(directory.write_checkpoint, self._logs_in(directory))
        write_gaps(directory, self._logs_in(directory), sync)

    def run_retention(self) -> int:
        """Deletes segments by retention, and files whose removal is due; returns how many segments were deleted."""
        return sum(self.retention_slices())

    def retention_slices(self) -> Iterator[int]:
        """`run_retention` in slices of one log each, so that the event loop can do other work in between."""
        now_ms = self._clock.now_ms()
        for log in self:
            if log.online:
                yield log.run_retention(now_ms)
        for directory in self.directories:
            directory.removals.run_due(now_ms)

    def expire_producers(self, expiration_ms: int) -> int:
        """Removes idempotent producers without a batch for `expiration_ms`; returns how many. Yields."""
        now_ms = self._clock.now_ms()
        expired = 0
        for log in yielding(self):
            expired += log.expire_producers(now_ms, expiration_ms)
        return expired

    def flush_due(self) -> None:
        """Syncs the logs whose `flush.ms` has passed. Yields."""
        now_ms = self._clock.now_ms()
        for log in yielding(self):
            if log.online:
                log.flush_if_due(now_ms)


def _retire_folder(log: Log, directory: LogDirectory, folder: str) -> None:
    deleted_folder = os.path.join(directory.path, deleted_folder_name(log.topic_partition))
    directory.disk.file_system.rename(folder, deleted_folder)
    directory.removals.add(deleted_folder, log.config.file_delete_delay_ms)
    directory.mark_checkpoints_stale(log.topic_partition, -1)


def _epoch_and_end_offset(log: Log) -> tuple[int, int]:
    return log.last_leader_epoch, log.log_end_offset
