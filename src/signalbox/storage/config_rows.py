# ruff: noqa: E501 (a table reads better with one row per key)
"""The broker keys that storage obeys: Kafka's names, defaults and bounds.

Many are the defaults of topic configs (`TOPIC_CONFIG`'s `synonym`). Where Kafka has several keys for one thing
(`log.retention.ms` before `.minutes` before `.hours`), `topic_defaults` says which one counts.
"""

from __future__ import annotations

from collections.abc import Mapping

from signalbox.common.config_table import ConfigRow, ConfigTable, ConfigType, Dynamic, Value, at_least
from signalbox.common.topic_config import TOPIC_CONFIG

_S, _I, _L, _LIST = ConfigType.STRING, ConfigType.INT, ConfigType.LONG, ConfigType.LIST
_OWN = (
    ConfigRow("log.dirs", _LIST, None, "Folders for partition logs; without it log.dir counts."),
    ConfigRow("log.dir", _S, "/tmp/signalbox-logs", "Folder for partition logs when log.dirs is not set."),
    ConfigRow("log.dir.failure.timeout.ms", _L, 30_000, "How long a broker without a working log directory may stay up, ms.", at_least(1)),
    ConfigRow("log.roll.hours", _I, 168, "Age at which a segment is rolled, when log.roll.ms is not set.", at_least(1)),
    ConfigRow("log.roll.jitter.hours", _I, 0, "Random part taken off the rolling age, when log.roll.jitter.ms is not set.", at_least(0)),
    ConfigRow("log.retention.minutes", _I, None, "How long records are kept, when log.retention.ms is not set."),
    ConfigRow("log.retention.hours", _I, 168, "How long records are kept, when neither log.retention.ms nor log.retention.minutes is set."),
    ConfigRow("log.retention.check.interval.ms", _L, 300_000, "Time between two searches for segments to delete, ms.", at_least(1)),
    ConfigRow("log.initial.task.delay.ms", _L, 30_000, "Time from the start to the first retention, flush and checkpoint, ms.", at_least(0)),
    ConfigRow("log.flush.scheduler.interval.ms", _L, 2**63 - 1, "Time between two searches for logs to sync, ms.", at_least(1)),
    ConfigRow("log.flush.offset.checkpoint.interval.ms", _I, 60_000, "Time between two recovery point checkpoints, ms.", at_least(0)),
    ConfigRow("log.flush.start.offset.checkpoint.interval.ms", _I, 60_000, "Time between two log start offset checkpoints, ms.", at_least(0)),
    ConfigRow("producer.id.expiration.ms", _I, 86_400_000, "Silence after which an idempotent producer is forgotten, ms.", at_least(1), Dynamic.CLUSTER_WIDE),
    ConfigRow("producer.id.expiration.check.interval.ms", _I, 600_000, "Time between two searches for silent producers, ms.", at_least(1)),
)  # fmt: skip

# Topic defaults that other keys stand in for: their own default is "not set".
_STAND_INS: dict[str, tuple[tuple[str, int], ...]] = {
    "log.retention.ms": (("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)),
    "log.roll.ms": (("log.roll.hours", 3_600_000),),
    "log.roll.jitter.ms": (("log.roll.jitter.hours", 3_600_000),),
    "log.flush.interval.ms": (("log.flush.scheduler.interval.ms", 1),),
}
# Rows of other rooms.
_ELSEWHERE = {"unclean.leader.election.enable"}


def _default_rows() -> list[ConfigRow]:
    """A broker row for every topic config that has one, with the topic row's type, bounds and text."""
    return [
        ConfigRow(
            row.synonym,
            row.type,
            None if row.synonym in _STAND_INS else row.default,
            f"Default of the topic config {row.name}: {row.doc}",
            row.validator,
            Dynamic.CLUSTER_WIDE,
        )
        for row in TOPIC_CONFIG
        if row.synonym is not None and row.synonym not in _ELSEWHERE
    ]


STORAGE_CONFIG = ConfigTable([*_OWN, *_default_rows()])


def topic_defaults(values: Mapping[str, Value]) -> dict[str, Value]:
    """The broker's value for every topic config, by the broker key, stand-ins resolved.

    For `LogConfig.from_topic_config`. A negative time means "no limit" as in Kafka: -1.
    """
    resolved = {row.synonym: values[row.synonym] for row in TOPIC_CONFIG if row.synonym and row.synonym in values}
    for name in _STAND_INS:
        for other, unit_ms in stand_ins(name):
            value = values.get(other)
            if resolved.get(name) is None and isinstance(value, int):
                resolved[name] = in_milliseconds(value, unit_ms)
    return resolved


def stand_ins(name: str) -> tuple[tuple[str, int], ...]:
    """The keys that count, first come first, while the topic default `name` is not set; and their units in ms."""
    return _STAND_INS.get(name, ())


def in_milliseconds(value: int, unit_ms: int) -> int:
    """A stand-in's value as the topic config has it."""
    return -1 if value < 0 else min(value * unit_ms, 2**63 - 1)
