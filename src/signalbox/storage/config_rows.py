# ruff: noqa: E501 (a table reads better with one row per key)
"""The broker keys of the storage package: Kafka's names, defaults and bounds.

Many are the defaults of topic configs (`TOPIC_CONFIG`'s `synonym`). Where Kafka has several keys for one setting
(`log.retention.ms` before `.minutes` before `.hours`), `topic_defaults` decides which one counts.
"""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.common.config.config_table import ConfigRow, ConfigTable, ConfigType, Dynamic, Value, at_least, between
from signalbox.common.config.topic_config import TOPIC_CONFIG

_S, _I, _L, _LIST = ConfigType.STRING, ConfigType.INT, ConfigType.LONG, ConfigType.LIST
_B, _D = ConfigType.BOOLEAN, ConfigType.DOUBLE
_OWN = (
    ConfigRow("log.dirs", _LIST, None, "The comma-separated list of log directories. If not set, log.dir is used."),
    ConfigRow("log.dir", _S, "/tmp/signalbox-logs", "The log directory, used if log.dirs is not set."),
    ConfigRow("log.dir.failure.timeout.ms", _L, 30_000, "The time in milliseconds for which a broker without a working log directory keeps running.", at_least(1)),
    ConfigRow("log.roll.hours", _I, 168, "The maximum age in hours of a segment before a new one is rolled, used if log.roll.ms is not set.", at_least(1)),
    ConfigRow("log.roll.jitter.hours", _I, 0, "The maximum random time in hours that is subtracted from the maximum age of a segment, used if log.roll.jitter.ms is not set.", at_least(0)),
    ConfigRow("log.retention.minutes", _I, None, "The time in minutes for which records are retained, used if log.retention.ms is not set."),
    ConfigRow("log.retention.hours", _I, 168, "The time in hours for which records are retained, used if neither log.retention.ms nor log.retention.minutes is set."),
    ConfigRow("log.retention.check.interval.ms", _L, 300_000, "The interval in milliseconds at which the broker checks for segments to delete.", at_least(1)),
    ConfigRow("log.initial.task.delay.ms", _L, 30_000, "The time in milliseconds from the start of the broker to the first retention check, flush and checkpoint.", at_least(0)),
    ConfigRow("log.flush.scheduler.interval.ms", _L, 2**63 - 1, "The interval in milliseconds at which the broker checks for logs to flush to disk.", at_least(1)),
    ConfigRow("log.flush.offset.checkpoint.interval.ms", _I, 60_000, "The interval in milliseconds at which recovery points are checkpointed.", at_least(0)),
    ConfigRow("log.flush.start.offset.checkpoint.interval.ms", _I, 60_000, "The interval in milliseconds at which log start offsets are checkpointed.", at_least(0)),
    ConfigRow("signalbox.log.scrub.bytes.per.second", _L, 1_048_576, "The rate in bytes per second at which the log scrub reads all logs to detect corrupt batches. 0 disables the scrub.", at_least(0), Dynamic.CLUSTER_WIDE),
    ConfigRow("signalbox.log.scrub.interval.ms", _L, 86_400_000, "The minimum time in milliseconds from the start of one pass of the log scrub to the start of the next.", at_least(1), Dynamic.CLUSTER_WIDE),
    ConfigRow("log.cleaner.enable", _B, True, "Whether logs with cleanup.policy=compact are compacted. Without it, __consumer_offsets grows without limit."),
    ConfigRow("log.cleaner.threads", _I, 1, "The number of cleaner processes, each of which compacts one log at a time. 0: no log is compacted.", at_least(0), Dynamic.CLUSTER_WIDE),
    ConfigRow("log.cleaner.dedupe.buffer.size", _L, 134_217_728, "The memory in bytes for the keys of the logs that are compacted, of all cleaner processes together. A log with more keys is compacted in several rounds.", at_least(1_048_577), Dynamic.CLUSTER_WIDE),
    ConfigRow("log.cleaner.io.buffer.size", _I, 524_288, "The memory in bytes for reads and writes of all cleaner processes together.", at_least(0), Dynamic.CLUSTER_WIDE),
    ConfigRow("log.cleaner.io.buffer.load.factor", _D, 0.9, "The share of log.cleaner.dedupe.buffer.size that a round may fill.", between(0, 1), Dynamic.CLUSTER_WIDE),
    ConfigRow("log.cleaner.io.max.bytes.per.second", _D, 1.7976931348623157e308, "The maximum rate in bytes per second at which all cleaner processes together read and write.", None, Dynamic.CLUSTER_WIDE),
    ConfigRow("log.cleaner.backoff.ms", _L, 15_000, "The time in milliseconds between two searches for logs to compact, if there is none.", at_least(0), Dynamic.CLUSTER_WIDE),
    ConfigRow("producer.id.expiration.ms", _I, 86_400_000, "The time in milliseconds without records after which the state of an idempotent producer expires.", at_least(1), Dynamic.CLUSTER_WIDE),
    ConfigRow("producer.id.expiration.check.interval.ms", _I, 600_000, "The interval in milliseconds at which expired producer ids are removed.", at_least(1)),
)  # fmt: skip

# Topic defaults with substitute keys: their own default is "not set".
_SUBSTITUTE_KEYS: dict[str, tuple[tuple[str, int], ...]] = {
    "log.retention.ms": (("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)),
    "log.roll.ms": (("log.roll.hours", 3_600_000),),
    "log.roll.jitter.ms": (("log.roll.jitter.hours", 3_600_000),),
    "log.flush.interval.ms": (("log.flush.scheduler.interval.ms", 1),),
}
# Rows of other packages.
_ROWS_OF_OTHER_PACKAGES = {"unclean.leader.election.enable"}


def _default_rows() -> list[ConfigRow]:
    """A broker row for every topic config that has one, with the topic row's type, bounds and text."""
    return [
        ConfigRow(
            row.synonym,
            row.type,
            None if row.synonym in _SUBSTITUTE_KEYS else row.default,
            f"The default of the topic config {row.name}. {row.doc}",
            row.validator,
            Dynamic.CLUSTER_WIDE,
        )
        for row in TOPIC_CONFIG
        if row.synonym is not None and row.synonym not in _ROWS_OF_OTHER_PACKAGES
    ]


STORAGE_CONFIG = ConfigTable([*_OWN, *_default_rows()])


def topic_defaults(values: Mapping[str, Value]) -> dict[str, Value]:
    """The broker's value for every topic config, by the broker key, with substitute keys resolved.

    For `LogConfig.from_topic_config`. A negative time means "no limit" as in Kafka: -1.
    """
    resolved = {row.synonym: values[row.synonym] for row in TOPIC_CONFIG if row.synonym and row.synonym in values}
    for name in _SUBSTITUTE_KEYS:
        for substitute, unit_ms in substitute_keys(name):
            value = values.get(substitute)
            if resolved.get(name) is None and isinstance(value, int):
                resolved[name] = in_milliseconds(value, unit_ms)
    return resolved


def substitute_keys(name: str) -> tuple[tuple[str, int], ...]:
    """The substitute keys of the topic default `name`, by precedence, with their units in ms. They count while `name`
    is not set."""
    return _SUBSTITUTE_KEYS.get(name, ())


def in_milliseconds(value: int, unit_ms: int) -> int:
    """A substitute key's value in milliseconds, as the topic config has it."""
    return -1 if value < 0 else min(value * unit_ms, 2**63 - 1)
