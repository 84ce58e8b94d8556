import pytest

from signalbox.common.config.topic_config import TOPIC_CONFIG
from signalbox.storage.log_config import LogConfig


def test_the_defaults_are_the_topic_tables() -> None:
    assert LogConfig.from_topic_config({}) == LogConfig()


def test_a_topic_overrides_the_broker_which_overrides_the_table() -> None:
    broker = {"log.segment.bytes": 5000, "log.retention.bytes": 77, "log.cleanup.policy": ["compact"]}
    config = LogConfig.from_topic_config({"segment.bytes": "6000", "cleanup.policy": "compact,delete"}, broker)
    assert (config.segment_bytes, config.retention_bytes) == (6000, 77)
    assert config.cleanup_policy == ("compact", "delete")
    assert config.deletes
    assert not LogConfig.from_topic_config({}, broker).deletes


def test_log_append_time_is_recognized() -> None:
    assert LogConfig.from_topic_config({"message.timestamp.type": "LogAppendTime"}).log_append_time
    assert not LogConfig().log_append_time


def test_a_wrong_value_names_its_config() -> None:
    with pytest.raises(ValueError, match=r"segment\.bytes"):
        LogConfig.from_topic_config({"segment.bytes": "many"})


def test_configs_of_other_packages_are_ignored() -> None:
    assert LogConfig.from_topic_config({row.name: "1" for row in TOPIC_CONFIG if "insync" in row.name}) == LogConfig()
