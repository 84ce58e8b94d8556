# ruff: noqa: E501 (a table reads better with one row per key)
"""The broker configs of replication: Kafka's names, defaults and bounds.

One default differs from Kafka's: `replica.fetch.response.max.bytes` is 1 MiB instead of 10 MiB. A response is handled
in one slice of the data loop, and the control plane waits for that slice. A busy follower sends its next fetch as soon
as a response is appended, so larger responses have no benefit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.common.config.config_table import ConfigRow, ConfigTable, ConfigType, Dynamic, Value, at_least
from signalbox.common.limits import MAX_FETCH_SESSIONS

_I, _L = ConfigType.INT, ConfigType.LONG

_STATIC, _LIVE = Dynamic.READ_ONLY, Dynamic.CLUSTER_WIDE
_LONG_MAX = 2**63 - 1

REPLICATION_CONFIG = ConfigTable(
    ConfigRow(name, type_, default, doc, at_least(low), dynamic)
    for name, type_, default, low, dynamic, doc in (
        ("replica.lag.time.max.ms", _L, 30_000, 1, _STATIC, "The time in milliseconds after which the leader removes a follower from the ISR if it has not caught up."),
        ("replica.fetch.max.bytes", _I, 1_048_576, 0, _STATIC, "The maximum number of bytes that a follower fetches per partition. A first batch that is larger is returned nevertheless."),
        ("replica.fetch.response.max.bytes", _I, 1_048_576, 0, _STATIC, "The maximum number of bytes that a follower fetches in one response. Kafka's default is 10485760."),
        ("replica.fetch.min.bytes", _I, 1, 0, _STATIC, "The minimum number of bytes that a leader waits for before it responds to a fetch of a follower."),
        ("replica.fetch.wait.max.ms", _I, 500, 0, _STATIC, "The maximum time in milliseconds that a leader delays the response to a fetch of a follower."),
        ("replica.fetch.backoff.ms", _I, 1_000, 0, _STATIC, "The maximum backoff in milliseconds of a follower after an error. The first backoffs are shorter."),
        ("num.replica.fetchers", _I, 1, 1, _LIVE, "The number of fetch connections to each leader broker."),
        ("replication.quota.window.num", _I, 11, 1, _STATIC, "The number of windows over which throttled replication is measured. A burst of one window less is allowed."),
        ("replication.quota.window.size.seconds", _I, 1, 1, _STATIC, "The length in seconds of one window of replication.quota.window.num."),
        ("leader.replication.throttled.rate", _L, _LONG_MAX, 0, _LIVE, "The maximum rate in bytes per second at which a leader sends data of the replicas in leader.replication.throttled.replicas."),
        ("follower.replication.throttled.rate", _L, _LONG_MAX, 0, _LIVE, "The maximum rate in bytes per second at which a follower fetches data of the replicas in follower.replication.throttled.replicas."),
        ("replica.alter.log.dirs.io.max.bytes.per.second", _L, _LONG_MAX, 0, _LIVE, "The maximum rate in bytes per second at which replicas move between log directories."),
        ("alter.log.dirs.replication.quota.window.num", _I, 11, 1, _STATIC, "The number of windows over which moves between log directories are measured. A burst of one window less is allowed."),
        ("alter.log.dirs.replication.quota.window.size.seconds", _I, 1, 1, _STATIC, "The length in seconds of one window of alter.log.dirs.replication.quota.window.num."),
        ("replica.high.watermark.checkpoint.interval.ms", _L, 5_000, 1, _STATIC, "The interval in milliseconds at which high watermarks are checkpointed."),
        ("max.incremental.fetch.session.cache.slots", _I, MAX_FETCH_SESSIONS, 0, _STATIC, "The maximum number of incremental fetch sessions."),
        ("fetch.max.bytes", _I, 57_671_680, 1_024, _STATIC, "The maximum number of bytes in one fetch response, even if the client requests more."),
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReplicationConfig:
    """The typed values. Defaults are the table's."""

    lag_time_max_ms: int = 30_000
    fetch_partition_max_bytes: int = 1_048_576
    fetch_response_max_bytes: int = 1_048_576
    fetch_min_bytes: int = 1
    fetch_wait_max_ms: int = 500
    fetch_backoff_ms: int = 1_000
    fetchers_per_leader: int = 1
    high_watermark_checkpoint_interval_ms: int = 5_000
    fetch_session_slots: int = MAX_FETCH_SESSIONS
    fetch_max_bytes: int = 57_671_680


_FIELDS = {
    "replica.lag.time.max.ms": "lag_time_max_ms",
    "replica.fetch.max.bytes": "fetch_partition_max_bytes",
    "replica.fetch.response.max.bytes": "fetch_response_max_bytes",
    "replica.fetch.min.bytes": "fetch_min_bytes",
    "replica.fetch.wait.max.ms": "fetch_wait_max_ms",
    "replica.fetch.backoff.ms": "fetch_backoff_ms",
    "num.replica.fetchers": "fetchers_per_leader",
    "replica.high.watermark.checkpoint.interval.ms": "high_watermark_checkpoint_interval_ms",
    "max.incremental.fetch.session.cache.slots": "fetch_session_slots",
    "fetch.max.bytes": "fetch_max_bytes",
}


def replication_config(values: Mapping[str, Value]) -> ReplicationConfig:
    """The typed config from values that `REPLICATION_CONFIG` has parsed."""
    fields = {}
    for key, field in _FIELDS.items():
        value = values[key]
        assert isinstance(value, int)
        fields[field] = value
    return ReplicationConfig(**fields)
