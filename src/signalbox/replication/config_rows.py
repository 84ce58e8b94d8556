# ruff: noqa: E501 (a table reads better with one row per key)
"""The broker keys that this room obeys: Kafka's names, defaults and bounds.

One default differs from Kafka's: `replica.fetch.response.max.bytes` is 1 MiB instead of 10 MiB. A response is handled in
one slice of the data loop, and a slice bounds how long the control plane waits; on a busy follower the next fetch leaves
as soon as a response has been appended, so nothing is gained by larger ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from signalbox.common.config_table import ConfigRow, ConfigTable, ConfigType, Dynamic, Value, at_least
from signalbox.common.limits import MAX_FETCH_SESSIONS

_I, _L = ConfigType.INT, ConfigType.LONG

_STATIC, _LIVE = Dynamic.READ_ONLY, Dynamic.CLUSTER_WIDE
_LONG_MAX = 2**63 - 1

REPLICATION_CONFIG = ConfigTable(
    ConfigRow(name, type_, default, doc, at_least(low), dynamic)
    for name, type_, default, low, dynamic, doc in (
        ("replica.lag.time.max.ms", _L, 30_000, 1, _STATIC, "A follower that has not been caught up for so long leaves the ISR, ms."),
        ("replica.fetch.max.bytes", _I, 1_048_576, 0, _STATIC, "Bytes a follower asks for per partition; a larger first batch is sent all the same."),
        ("replica.fetch.response.max.bytes", _I, 1_048_576, 0, _STATIC, "Bytes a follower asks for in one response."),
        ("replica.fetch.min.bytes", _I, 1, 0, _STATIC, "Bytes a leader waits for before it answers a follower."),
        ("replica.fetch.wait.max.ms", _I, 500, 0, _STATIC, "Longest time a leader holds a follower's fetch back, ms."),
        ("replica.fetch.backoff.ms", _I, 1_000, 0, _STATIC, "Longest pause of a follower after an error, ms; the first pauses are shorter."),
        ("num.replica.fetchers", _I, 1, 1, _LIVE, "Fetch connections to each leader broker."),
        ("replication.quota.window.num", _I, 11, 1, _STATIC, "Windows over which throttled replication is measured; so many less one may come at once."),
        ("replication.quota.window.size.seconds", _I, 1, 1, _STATIC, "The length of one, s."),
        ("leader.replication.throttled.rate", _L, _LONG_MAX, 0, _LIVE, "Bytes a second that a leader sends of the replicas that its topics name."),
        ("follower.replication.throttled.rate", _L, _LONG_MAX, 0, _LIVE, "Bytes a second that a follower takes of the replicas that its topics name."),
        ("replica.alter.log.dirs.io.max.bytes.per.second", _L, _LONG_MAX, 0, _LIVE, "Bytes a second at which replicas move between log directories."),
        ("replica.high.watermark.checkpoint.interval.ms", _L, 5_000, 1, _STATIC, "Time between two high watermark checkpoints, ms."),
        ("max.incremental.fetch.session.cache.slots", _I, MAX_FETCH_SESSIONS, 0, _STATIC, "Incremental fetch sessions kept at most."),
        ("fetch.max.bytes", _I, 57_671_680, 1_024, _STATIC, "Most bytes of one fetch response, whatever the client asks for."),
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
    """The typed config out of values that `REPLICATION_CONFIG` has read."""
    taken = {}
    for key, field in _FIELDS.items():
        value = values[key]
        assert isinstance(value, int)
        taken[field] = value
    return ReplicationConfig(**taken)
