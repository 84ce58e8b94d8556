"""The effective value of a topic config, and its source."""

from __future__ import annotations

from signalbox.common.config.topic_config import TOPIC_CONFIG
from signalbox.metadata.effective_config import (
    BrokerLevels,
    ConfigSource,
    effective_topic_config,
    effective_topic_configs,
)

ROW = TOPIC_CONFIG["min.insync.replicas"]
NONE = BrokerLevels({}, {}, {})


def test_the_nearest_level_wins() -> None:
    key = "min.insync.replicas"
    levels = BrokerLevels({key: "4"}, {key: "3"}, {key: "2"})
    assert effective_topic_config(ROW, {key: "5"}, levels).value == "5"
    steps = [
        (levels, "4", ConfigSource.DYNAMIC_BROKER_CONFIG),
        (BrokerLevels({}, {key: "3"}, {key: "2"}), "3", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        (BrokerLevels({}, {}, {key: "2"}), "2", ConfigSource.STATIC_BROKER_CONFIG),
        (NONE, "1", ConfigSource.DEFAULT_CONFIG),
    ]
    for given, value, source in steps:
        found = effective_topic_config(ROW, {}, given)
        assert (found.value, found.source) == (value, source)


def test_broker_keys_have_their_own_names() -> None:
    found = effective_topic_config(TOPIC_CONFIG["retention.ms"], {}, BrokerLevels({}, {}, {"log.retention.ms": "9"}))
    assert (found.value, found.source) == ("9", ConfigSource.STATIC_BROKER_CONFIG)


def test_every_row_has_a_value() -> None:
    configs = {each.row.name: each.value for each in effective_topic_configs({"cleanup.policy": "compact"}, NONE)}
    assert set(configs) == {row.name for row in TOPIC_CONFIG}
    assert configs["cleanup.policy"] == "compact"
    assert configs["preallocate"] == "false"
