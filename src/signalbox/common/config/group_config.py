# ruff: noqa: E501 (a table reads better with one row per key)
"""The configs of a group (KIP-848, KIP-932, KIP-1071): Kafka 4.4's keys, defaults and bounds.

Classic groups read none of them: they are stored and described for the protocols that do. The bounds are the defaults of
Kafka's broker keys group.<type>.min.* and group.<type>.max.*.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from signalbox.common.config.config_table import (
    ConfigRow,
    ConfigTable,
    ConfigType,
    Validator,
    Value,
    at_least,
    between,
    one_of,
)

_B, _I, _L, _S, _LIST = ConfigType.BOOLEAN, ConfigType.INT, ConfigType.LONG, ConfigType.STRING, ConfigType.LIST
_TAGS = "streams.rack.aware.assignment.tags"
_DEAD_LETTERS = "errors.deadletterqueue.topic.name"
_DURATION = re.compile(r"by_duration:P(?=.)([0-9]+D)?(T(?=.)([0-9]+H)?([0-9]+M)?([0-9]+(\.[0-9]{1,9})?S)?)?", re.I)


def _offset_reset(value: Value) -> str | None:
    known = value in ("earliest", "latest") or _DURATION.fullmatch(str(value))
    return None if known else f"{value} is none of latest, earliest, by_duration:PnDTnHnMn.nS"


def _dead_letter_topic(value: Value) -> str | None:
    return "DLQ topic name must not start with '__'" if str(value).startswith("__") else None


_ROWS: tuple[tuple[str, ConfigType, Value, Validator | None, str], ...] = (
    ("consumer.session.timeout.ms", _I, 45_000, between(45_000, 60_000), "The time in milliseconds after which a member of a consumer group that sends no heartbeat is removed."),
    ("consumer.heartbeat.interval.ms", _I, 5_000, between(5_000, 15_000), "The heartbeat interval in milliseconds of the members of a consumer group."),
    ("consumer.assignment.interval.ms", _I, 1_000, between(0, 15_000), "The minimum time in milliseconds between two assignments of a consumer group."),
    ("consumer.assignor.offload.enable", _B, True, None, "Whether the assignor of a consumer group runs in a thread of its own."),
    ("share.session.timeout.ms", _I, 45_000, between(45_000, 60_000), "The time in milliseconds after which a member of a share group that sends no heartbeat is removed."),
    ("share.heartbeat.interval.ms", _I, 5_000, between(5_000, 15_000), "The heartbeat interval in milliseconds of the members of a share group."),
    ("share.record.lock.duration.ms", _I, 30_000, between(15_000, 60_000), "The time in milliseconds for which a share group locks an acquired record."),
    ("share.delivery.count.limit", _I, 5, between(2, 10), "The maximum number of times that a record is delivered to a share group."),
    ("share.partition.max.record.locks", _I, 2_000, between(100, 4_000), "The maximum number of locked records of one partition of a share group."),
    ("share.auto.offset.reset", _S, "latest", _offset_reset, "Where a share group begins to read a partition."),
    ("share.isolation.level", _S, "read_uncommitted", one_of("read_committed", "read_uncommitted"), "Whether a share group gets the records of transactions that are open or were aborted."),
    ("share.renew.acknowledge.enable", _B, True, None, "Whether members of a share group may renew the lock of a record."),
    ("share.assignment.interval.ms", _I, 1_000, between(0, 15_000), "The minimum time in milliseconds between two assignments of a share group."),
    ("share.assignor.offload.enable", _B, True, None, "Whether the assignor of a share group runs in a thread of its own."),
    ("streams.session.timeout.ms", _I, 45_000, between(45_000, 60_000), "The time in milliseconds after which a member of a streams group that sends no heartbeat is removed."),
    ("streams.heartbeat.interval.ms", _I, 5_000, between(5_000, 15_000), "The heartbeat interval in milliseconds of the members of a streams group."),
    ("streams.num.standby.replicas", _I, 0, between(0, 2), "The number of standby replicas of each task of a streams group."),
    ("streams.initial.rebalance.delay.ms", _I, 3_000, at_least(0), "The time in milliseconds for which a new streams group waits for more members."),
    ("streams.assignment.interval.ms", _I, 1_000, between(0, 15_000), "The minimum time in milliseconds between two assignments of a streams group."),
    (_TAGS, _LIST, [], None, "The tags of clients over which standby tasks of a streams group are spread."),
    ("streams.assignor.offload.enable", _B, True, None, "Whether the assignor of a streams group runs in a thread of its own."),
    ("streams.task.offset.interval.ms", _I, 60_000, at_least(15_000), "The interval in milliseconds at which members of a streams group report the offsets of their tasks."),
    ("streams.num.warmup.replicas", _I, 2, between(0, 20), "The maximum number of warm-up replicas of a streams group."),
    ("streams.acceptable.recovery.lag", _L, 10_000, at_least(0), "The lag up to which a task of a streams group counts as caught up."),
    ("streams.assignor.name", _S, "sticky", None, "The assignor of a streams group."),
    (_DEAD_LETTERS, _S, "", _dead_letter_topic, "The topic for records that a share group could not process; empty: none."),
    ("errors.deadletterqueue.copy.record.enable", _B, False, None, "Whether the dead-letter topic of a share group gets copies of the records."),
)  # fmt: skip

_BROKER_KEYS = {  # of the default, where it is not `group.` and the name; None: there is none
    "share.auto.offset.reset": None,
    "share.isolation.level": None,
    "share.renew.acknowledge.enable": None,
    "streams.assignor.name": "group.streams.assignors",
    _DEAD_LETTERS: None,
    "errors.deadletterqueue.copy.record.enable": None,
}
INTERNAL_GROUP_CONFIGS = frozenset(
    {
        "consumer.assignor.offload.enable",
        "share.assignor.offload.enable",
        "streams.assignor.offload.enable",
        "streams.task.offset.interval.ms",
        "streams.num.warmup.replicas",
        "streams.acceptable.recovery.lag",
    }
)
"""As in Kafka these can be set, and are described only while they are."""

GROUP_CONFIG = ConfigTable(
    ConfigRow(name, type_, default, doc, validator, synonym=_BROKER_KEYS.get(name, f"group.{name}"))
    for name, type_, default, validator, doc in _ROWS
)


def group_config_problem(configs: Mapping[str, str]) -> str | None:
    """What is wrong with the values together, in Kafka's words, or None. The values must have been parsed before."""
    tags = GROUP_CONFIG[_TAGS].parse(configs.get(_TAGS, ""))  # a session is longer than a heartbeat by their bounds
    assert isinstance(tags, list)
    return f"{_TAGS} must not contain duplicate tag keys." if len(set(tags)) != len(tags) else None
