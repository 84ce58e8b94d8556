"""Kafka's log metrics, under its names: per partition (kafka.log:type=Log) and of the directories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from signalbox.common.ids import TopicPartition
from signalbox.common.metrics import MetricName, Metrics
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.log import Log

_OFFLINE_COUNT = MetricName("kafka.log", "LogManager", "OfflineLogDirectoryCount")
_OFFLINE = MetricName("kafka.log", "LogManager", "LogDirectoryOffline")

PARTITION_GAUGES: tuple[tuple[str, Callable[[Log], float]], ...] = (
    ("Size", lambda log: log.size_bytes),
    ("NumLogSegments", lambda log: len(log.body.segments)),
    ("LogStartOffset", lambda log: log.log_start_offset),
    ("LogEndOffset", lambda log: log.log_end_offset),
)


class LogMetrics:
    """Called for every log that is added or removed."""

    def __init__(self, metrics: Metrics, directories: list[LogDirectory]) -> None:
        self._logs: dict[TopicPartition, Log] = {}
        metrics.gauge(_OFFLINE_COUNT, lambda: sum(not directory.online for directory in directories))
        for directory in directories:
            metrics.gauge(_OFFLINE, _offline(directory), {"logDirectory": directory.path})
        for name, read in PARTITION_GAUGES:
            metrics.gauges(MetricName("kafka.log", "Log", name), partial(self._rows, read))

    def added(self, log: Log) -> None:
        """The broker now hosts this log."""
        self._logs[log.topic_partition] = log

    def removed(self, log: Log) -> None:
        """The broker no longer hosts this log."""
        if self._logs.get(log.topic_partition) is log:  # otherwise another copy has replaced it
            del self._logs[log.topic_partition]

    def _rows(self, read: Callable[[Log], float]) -> Iterator[tuple[dict[str, str], float]]:
        for (topic, partition), log in list(self._logs.items()):
            yield {"topic": topic, "partition": str(partition)}, read(log)


def _offline(directory: LogDirectory) -> Callable[[], float]:
    return lambda: 0 if directory.online else 1
