from __future__ import annotations

import pytest

from signalbox.coordinator.config_rows import (
    COORDINATOR_CONFIG,
    GROUP_RUNTIME_KEYS,
    TRANSACTION_RUNTIME_KEYS,
    GroupSettings,
    RuntimeSettings,
    TransactionSettings,
    offsets_topic_configs,
)


def test_without_keys_the_settings_are_kafkas_defaults() -> None:
    values, faults = COORDINATOR_CONFIG.read({})
    assert faults == []
    assert GroupSettings.read(values) == GroupSettings()
    assert RuntimeSettings.read(values, GROUP_RUNTIME_KEYS) == RuntimeSettings()


def test_every_key_reaches_its_setting() -> None:
    values, faults = COORDINATOR_CONFIG.read(
        {
            "group.min.session.timeout.ms": "1",
            "group.max.session.timeout.ms": "2",
            "group.initial.rebalance.delay.ms": "3",
            "group.max.size": "4",
            "offset.metadata.max.bytes": "5",
            "offsets.retention.minutes": "6",
            "offsets.load.buffer.size": "7",
            "offsets.commit.timeout.ms": "8",
            "offsets.retention.check.interval.ms": "9",
            "group.coordinator.append.linger.ms": "10",
            "offsets.topic.compression.codec": "3",
        }
    )
    assert faults == []
    assert GroupSettings.read(values) == GroupSettings(
        min_session_timeout_ms=1,
        max_session_timeout_ms=2,
        initial_rebalance_delay_ms=3,
        max_size=4,
        offset_metadata_max_size=5,
        offsets_retention_ms=360_000,
    )
    assert RuntimeSettings.read(values, GROUP_RUNTIME_KEYS) == RuntimeSettings(
        load_buffer_bytes=7, commit_timeout_ms=8, maintenance_interval_ms=9, append_linger_ms=10, compression="lz4"
    )


def test_the_keys_of_transactions() -> None:
    values, faults = COORDINATOR_CONFIG.read({})
    assert faults == []
    assert TransactionSettings.read(values) == TransactionSettings()
    values, faults = COORDINATOR_CONFIG.read(
        {
            "transaction.max.timeout.ms": "1",
            "transactional.id.expiration.ms": "2",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "3",
            "transaction.state.log.load.buffer.size": "4",
            "transaction.remove.expired.transaction.cleanup.interval.ms": "5",
        }
    )
    assert faults == []
    assert TransactionSettings.read(values) == TransactionSettings(1, 2, 3)
    runtime = RuntimeSettings.read({**values, "request.timeout.ms": 6}, TRANSACTION_RUNTIME_KEYS)
    assert runtime == RuntimeSettings(load_buffer_bytes=4, maintenance_interval_ms=5, commit_timeout_ms=6)


@pytest.mark.parametrize(
    ("key", "text"),
    [("group.max.size", "0"), ("offsets.topic.compression.codec", "5"), ("offsets.retention.minutes", "soon")],
)
def test_wrong_values_are_rejected_by_name(key: str, text: str) -> None:
    _, faults = COORDINATOR_CONFIG.read({key: text})
    assert [fault.key for fault in faults] == [key]


def test_the_offsets_topic_is_compacted() -> None:
    assert offsets_topic_configs(100)["cleanup.policy"] == "compact"
