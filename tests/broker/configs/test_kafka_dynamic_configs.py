"""Dynamic broker keys without effect have Kafka's types, scopes and defaults, which DescribeConfigs returns."""

from __future__ import annotations

import pytest

from signalbox.broker.configs.config_description import ConfigDescription
from signalbox.broker.configs.kafka_dynamic_configs import KAFKA_DYNAMIC_CONFIGS
from signalbox.common.config.config_table import ConfigRow, ConfigType, Dynamic, format_value
from signalbox.configuration.configuration import NODE_CONFIG
from tests.broker.handler_requests import LoadedConfigs


@pytest.mark.spec("D15")
@pytest.mark.parametrize(
    ("key", "kind", "default"),
    [
        ("num.io.threads", ConfigType.INT, "8"),
        ("num.network.threads", ConfigType.INT, "3"),
        ("background.threads", ConfigType.INT, "10"),
        ("log.cleaner.dedupe.buffer.size", ConfigType.LONG, "134217728"),
        ("log.cleaner.io.buffer.load.factor", ConfigType.DOUBLE, "0.9"),
        ("log.cleaner.io.max.bytes.per.second", ConfigType.DOUBLE, "1.7976931348623157E308"),
        ("log.cleaner.backoff.ms", ConfigType.LONG, "15000"),
        ("remote.log.manager.copy.max.bytes.per.second", ConfigType.LONG, "9223372036854775807"),
        ("cordoned.log.dirs", ConfigType.LIST, ""),
    ],
)
def test_a_stored_key_is_described_with_the_type_and_default_of_kafka(key: str, kind: ConfigType, default: str) -> None:
    description = ConfigDescription(1, NODE_CONFIG, {}, LoadedConfigs({"brokers/1": {key: "7"}}))
    (line,) = [config for config in description.broker() if config.name == key]
    assert (line.value, line.type, line.read_only, line.sensitive) == ("7", kind, False, False)
    assert [value for _, value, _ in line.synonyms] == ["7", default]


@pytest.mark.parametrize("row", list(KAFKA_DYNAMIC_CONFIGS), ids=lambda row: row.name)
def test_each_default_is_a_value_of_its_type(row: ConfigRow) -> None:
    assert row.parse(format_value(row.default) or "") == row.default


def test_only_the_cordoned_directories_belong_to_one_broker() -> None:
    scopes = {row.name: row.dynamic for row in KAFKA_DYNAMIC_CONFIGS}
    assert scopes.pop("cordoned.log.dirs") is Dynamic.PER_BROKER
    assert set(scopes.values()) == {Dynamic.CLUSTER_WIDE}
