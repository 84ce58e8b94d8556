"""Which logs are to be where: moves between the log directories of this broker, and places for logs yet to come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from signalbox.common.ids import TopicPartition
from signalbox.common.limits import MAX_AWAITED_LOGS
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.log import Log
from signalbox.storage.log_directory import LogDirectory
from signalbox.storage.log_move import LogMove


class LogMoves:
    """`went_over(log, directory, folder)` puts the old files away."""

    def __init__(
        self,
        logs: Mapping[TopicPartition, Log],
        directories: Sequence[LogDirectory],
        went_over: Callable[[Log, LogDirectory, str], None],
    ) -> None:
        self._logs = logs
        self._directories = directories
        self._went_over = went_over
        self._moves: dict[TopicPartition, LogMove] = {}
        self._awaited: dict[TopicPartition, LogDirectory] = {}

    def __iter__(self) -> Iterator[LogMove]:
        return iter(list(self._moves.values()))

    def move(self, topic_partition: TopicPartition, path: str) -> None:
        """Begin to move a log, unless it is there or on its way; a move to elsewhere is given up for it. KafkaError:

        LOG_DIR_NOT_FOUND for a path that is none of `log.dirs`; KAFKA_STORAGE_ERROR when it, or where the log is now,
        is offline; REPLICA_NOT_AVAILABLE without a log, which will be made there.
        """
        target = next((each for each in self._directories if each.path == path), None)
        if target is None:
            raise KafkaError(Error.LOG_DIR_NOT_FOUND, f"{path} is none of this broker's log.dirs")
        target.refuse_offline()
        log = self._logs.get(topic_partition)
        running = self._moves.get(topic_partition)
        if running is not None and running.target is not target:
            self.cancel(topic_partition)
            running = None
        if log is None:
            self._await(topic_partition, target)
            raise KafkaError(Error.REPLICA_NOT_AVAILABLE, f"{topic_partition} is not here yet")
        log.body.directory.refuse_offline()
        if running is None and log.body.directory is not target:
            self._begin(log, target)

    def cancel(self, topic_partition: TopicPartition) -> None:
        """The log stays where it is, or goes altogether."""
        move = self._moves.pop(topic_partition, None)
        if move is not None:
            move.cancel()

    def cancel_all(self) -> None:
        """The broker stops."""
        for topic_partition in list(self._moves):
            self.cancel(topic_partition)

    def place_of(self, topic_partition: TopicPartition) -> LogDirectory | None:
        """Where a new log was wanted, if anybody said so and the directory works."""
        directory = self._awaited.pop(topic_partition, None)
        return directory if directory is not None and directory.online else None

    def _await(self, topic_partition: TopicPartition, directory: LogDirectory) -> None:
        self._awaited[topic_partition] = directory
        if len(self._awaited) > MAX_AWAITED_LOGS:
            del self._awaited[next(iter(self._awaited))]

    def _begin(self, log: Log, target: LogDirectory) -> None:
        def moved(source: LogDirectory, old_folder: str) -> None:
            self._went_over(log, source, old_folder)

        move = LogMove(log, target, moved, lambda: self._forget(move))
        self._moves[log.topic_partition] = move
        try:
            move.begin()
        except KafkaError:
            self._forget(move)
            raise

    def _forget(self, move: LogMove) -> None:
        if self._moves.get(move.log.topic_partition) is move:
            del self._moves[move.log.topic_partition]
