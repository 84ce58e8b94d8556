"""Moves of logs between the log directories of this broker, and requested directories for logs that do not exist
yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from signalbox.common.ids import TopicPartition
from signalbox.common.limits import MAX_AWAITED_LOGS
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.directories.log_move import LogMove, MoveThrottle
from signalbox.storage.log import Log


class LogMoves:
    """`on_moved(log, directory, folder)` deletes the old files."""

    def __init__(
        self,
        logs: Mapping[TopicPartition, Log],
        directories: Sequence[LogDirectory],
        on_moved: Callable[[Log, LogDirectory, str], None],
        throttle: MoveThrottle,
    ) -> None:
        self.throttle = throttle
        self._logs = logs
        self._directories = directories
        self._on_moved = on_moved
        self._moves: dict[TopicPartition, LogMove] = {}
        self._requested_directories: dict[TopicPartition, LogDirectory] = {}

    def __iter__(self) -> Iterator[LogMove]:
        return iter(list(self._moves.values()))

    def move(self, topic_partition: TopicPartition, path: str) -> None:
        """Begin to move a log, unless it is already there or moving there; a move to another directory is cancelled.
        KafkaError:

        LOG_DIR_NOT_FOUND for a path that is not in `log.dirs`; KAFKA_STORAGE_ERROR if that directory, or the present
        one of the log, is offline; REPLICA_NOT_AVAILABLE if there is no log: it will be created there.
        """
        target = next((directory for directory in self._directories if directory.path == path), None)
        if target is None:
            raise KafkaError(Error.LOG_DIR_NOT_FOUND, f"{path} is not in log.dirs of this broker")
        target.reject_offline()
        log = self._logs.get(topic_partition)
        running = self._moves.get(topic_partition)
        if running is not None and running.target is not target:
            self.cancel(topic_partition)
            running = None
        if log is None:
            self._remember_directory(topic_partition, target)
            raise KafkaError(Error.REPLICA_NOT_AVAILABLE, f"{topic_partition} does not exist on this broker yet")
        log.body.directory.reject_offline()
        if running is None and log.body.directory is not target:
            self._begin(log, target)

    def cancel(self, topic_partition: TopicPartition) -> None:
        """Cancel the move: the log stays where it is, or is being deleted."""
        move = self._moves.pop(topic_partition, None)
        if move is not None:
            move.cancel()

    def cancel_all(self) -> None:
        """Cancel all moves: the broker stops."""
        for topic_partition in list(self._moves):
            self.cancel(topic_partition)

    def is_moving(self, topic_partition: TopicPartition) -> bool:
        """Whether the log is being moved."""
        return topic_partition in self._moves

    def requested_directory(self, topic_partition: TopicPartition) -> LogDirectory | None:
        """The requested directory for a new log, if there is one and it is online."""
        directory = self._requested_directories.pop(topic_partition, None)
        return directory if directory is not None and directory.online else None

    def _remember_directory(self, topic_partition: TopicPartition, directory: LogDirectory) -> None:
        self._requested_directories[topic_partition] = directory
        if len(self._requested_directories) > MAX_AWAITED_LOGS:
            del self._requested_directories[next(iter(self._requested_directories))]

    def _begin(self, log: Log, target: LogDirectory) -> None:
        def on_moved(source: LogDirectory, old_folder: str) -> None:
            self._on_moved(log, source, old_folder)

        move = LogMove(log, target, on_moved, lambda: self._forget(move), self.throttle)
        self._moves[log.topic_partition] = move
        try:
            move.begin()
        except KafkaError:
            self._forget(move)
            raise

    def _forget(self, move: LogMove) -> None:
        if self._moves.get(move.log.topic_partition) is move:
            del self._moves[move.log.topic_partition]
