"""The config keys, and that the typed config agrees with the table."""

from __future__ import annotations

from signalbox.replication.config_rows import REPLICATION_CONFIG, ReplicationConfig, replication_config


def test_the_defaults_stand_in_one_place_only_in_effect() -> None:
    values, faults = REPLICATION_CONFIG.read({})
    assert (replication_config(values), faults) == (ReplicationConfig(), [])


def test_given_values_arrive() -> None:
    values, faults = REPLICATION_CONFIG.read(
        {"replica.lag.time.max.ms": "10000", "num.replica.fetchers": "2", "unknown.key": "1"}
    )
    config = replication_config(values)
    assert (config.lag_time_max_ms, config.fetchers_per_leader, faults) == (10_000, 2, [])


def test_wrong_values_are_collected() -> None:
    _, faults = REPLICATION_CONFIG.read({"num.replica.fetchers": "0", "replica.lag.time.max.ms": "soon"})
    assert sorted(fault.key for fault in faults) == ["num.replica.fetchers", "replica.lag.time.max.ms"]
