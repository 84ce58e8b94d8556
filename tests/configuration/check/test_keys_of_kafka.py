"""Keys of Kafka without an effect here: each is warned of with its reason, and none is a key of Signalbox."""

from __future__ import annotations

import pytest

from signalbox.common.config.properties_file import Properties
from signalbox.configuration.check.keys_of_kafka import KEYS_OF_KAFKA
from signalbox.configuration.check.without_effect import WITHOUT_EFFECT
from signalbox.configuration.configuration import NODE_CONFIG, read_node_config
from tests.configuration.settings import VALUES


def test_none_of_them_is_a_key_of_ours() -> None:
    assert set(KEYS_OF_KAFKA) & {row.name for row in NODE_CONFIG} == set()
    assert set(KEYS_OF_KAFKA) & set(WITHOUT_EFFECT) == set()


@pytest.mark.parametrize("key", KEYS_OF_KAFKA)
def test_each_is_taken_with_a_warning_that_says_why(key: str) -> None:
    config, faults = read_node_config(Properties("test", {**VALUES, key: "1"}))
    assert faults == []
    assert config is not None
    [warning] = [each for each in config.warnings if key in each]
    assert KEYS_OF_KAFKA[key] in warning
