"""What Kafka measures of its logs, under its names: per partition (kafka.log:type=Log) and of the directories."""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.metrics import MetricName, Metrics
from signalbox.storage.log import Log
from signalbox.storage.log_directory import LogDirectory

_OFFLINE_COUNT = MetricName("kafka.log", "LogManager", "OfflineLogDirectoryCount")
_OFFLINE = MetricName("kafka.log", "LogManager", "LogDirectoryOffline")

PARTITION_GAUGES: tuple[tuple[str, Callable[[Log], float]], ...] = (
    ("Size", lambda log: log.size_bytes),
    ("NumLogSegments", lambda log: len(log.body.segments)),
    ("LogStartOffset", lambda log: log.log_start_offset),
    ("LogEndOffset", lambda log: log.log_end_offset),
)


class LogMetrics:
    """Told of every log that comes and goes."""

    def __init__(self, metrics: Metrics, directories: list[LogDirectory]) -> None:
        self._metrics = metrics
        metrics.gauge(_OFFLINE_COUNT, lambda: sum(not directory.online for directory in directories))
        for directory in directories:
            metrics.gauge(_OFFLINE, _offline(directory), {"logDirectory": directory.path})

    def added(self, log: Log) -> None:
        """A log is hosted here from now on."""
        for name, read in PARTITION_GAUGES:
            self._metrics.gauge(MetricName("kafka.log", "Log", name), _bound(read, log), _tags(log))

    def removed(self, log: Log) -> None:
        """A log is gone."""
        for name, _ in PARTITION_GAUGES:
            self._metrics.remove(MetricName("kafka.log", "Log", name), _tags(log))


def _tags(log: Log) -> dict[str, str]:
    return {"topic": log.topic_partition.topic, "partition": str(log.topic_partition.partition)}


def _bound(read: Callable[[Log], float], log: Log) -> Callable[[], float]:
    return lambda: read(log)


def _offline(directory: LogDirectory) -> Callable[[], float]:
    return lambda: 0 if directory.online else 1
