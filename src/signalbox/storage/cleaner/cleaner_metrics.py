"""Kafka's metrics of the log cleaner (kafka.log:type=LogCleaner and type=LogCleanerManager)."""

from __future__ import annotations

from signalbox.common.clock import Clock
from signalbox.common.metrics import MetricName, Metrics, Rows
from signalbox.storage.cleaner.log_cleaner import LogCleaner


def measure_cleaner(metrics: Metrics, cleaner: LogCleaner, clock: Clock) -> None:
    """Registers the metrics. Kafka's values are whole percents, seconds and milliseconds."""
    last = cleaner.last

    def recopied() -> float:
        stats = last.stats
        return int(100 * stats.bytes_kept / stats.bytes_read) if stats is not None and stats.bytes_read else 0

    for type_, name, read in (
        ("LogCleaner", "max-buffer-utilization-percent", lambda: int(100 * last.map_utilization)),
        ("LogCleaner", "cleaner-recopy-percent", recopied),
        ("LogCleaner", "max-clean-time-secs", lambda: int(last.duration_s)),
        ("LogCleaner", "max-compaction-delay-secs", lambda: last.max_overdue_ms // 1000),
        ("LogCleanerManager", "max-dirty-percent", lambda: int(100 * last.dirtiest_ratio)),
        ("LogCleanerManager", "time-since-last-run-ms", lambda: clock.now_ms() - last.chosen_at_ms),
    ):
        metrics.gauge(MetricName("kafka.log", type_, name), read)

    def counts() -> Rows:
        for directory in cleaner.directories:
            yield {"logDirectory": directory.path}, len(cleaner.uncleanable(directory))

    def sizes() -> Rows:
        for directory in cleaner.directories:
            yield {"logDirectory": directory.path}, cleaner.uncleanable_bytes(directory)

    metrics.gauges(MetricName("kafka.log", "LogCleanerManager", "uncleanable-partitions-count"), counts)
    metrics.gauges(MetricName("kafka.log", "LogCleanerManager", "uncleanable-bytes"), sizes)
