"""The effective value of a topic config and its source: topic, broker, all brokers, server.properties or default.

The numbers of `ConfigSource` are those of DescribeConfigs and CreateTopics on the wire (KIP-226, KIP-525).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from signalbox.common.config.config_table import ConfigRow, format_value
from signalbox.common.config.topic_config import TOPIC_CONFIG


class ConfigSource(IntEnum):
    """Where a value is set."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


@dataclass(frozen=True, slots=True)
class EffectiveConfig:
    """One config of a topic with its effective value."""

    row: ConfigRow
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class BrokerLevels:
    """Broker-level values that serve as defaults of topic configs, in order of precedence."""

    dynamic_broker: Mapping[str, str]
    dynamic_default: Mapping[str, str]
    static: Mapping[str, str]


def effective_topic_configs(topic_configs: Mapping[str, str], levels: BrokerLevels) -> Iterator[EffectiveConfig]:
    """Every topic config with its effective value."""
    for row in TOPIC_CONFIG:
        yield effective_topic_config(row, topic_configs, levels)


def effective_topic_config(row: ConfigRow, topic_configs: Mapping[str, str], levels: BrokerLevels) -> EffectiveConfig:
    """One topic config with its effective value."""
    if row.name in topic_configs:
        return EffectiveConfig(row, topic_configs[row.name], ConfigSource.DYNAMIC_TOPIC_CONFIG)
    if row.synonym is not None:
        for values, source in (
            (levels.dynamic_broker, ConfigSource.DYNAMIC_BROKER_CONFIG),
            (levels.dynamic_default, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
            (levels.static, ConfigSource.STATIC_BROKER_CONFIG),
        ):
            if row.synonym in values:
                return EffectiveConfig(row, values[row.synonym], source)
    return EffectiveConfig(row, format_value(row.default), ConfigSource.DEFAULT_CONFIG)
