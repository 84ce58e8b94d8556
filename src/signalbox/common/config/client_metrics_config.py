"""The config of a client metrics subscription (KIP-714): its keys, and the rules for their values.

`match` selects clients by `name=pattern` pairs. The name is one of six properties that a broker has of each client.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from signalbox.common.config.config_table import ConfigRow, ConfigTable, ConfigType

METRICS, INTERVAL_MS, MATCH = "metrics", "interval.ms", "match"
SHORTEST_INTERVAL_MS, LONGEST_INTERVAL_MS = 100, 3_600_000

CLIENT_METRICS_CONFIG = ConfigTable(
    (
        ConfigRow(METRICS, ConfigType.LIST, [], "Telemetry metric name prefix list"),
        ConfigRow(INTERVAL_MS, ConfigType.INT, 300_000, "Metrics push interval in milliseconds"),
        ConfigRow(MATCH, ConfigType.LIST, [], "Client match criteria"),
    )
)

_CLIENT_PROPERTIES = frozenset(
    {
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


def interval_problem(configs: Mapping[str, str]) -> str | None:
    """What is wrong with the interval, in Kafka's words, or None. The values must have been parsed before."""
    if INTERVAL_MS not in configs:
        return None
    interval_ms = CLIENT_METRICS_CONFIG[INTERVAL_MS].parse(configs[INTERVAL_MS])
    assert isinstance(interval_ms, int)
    if SHORTEST_INTERVAL_MS <= interval_ms <= LONGEST_INTERVAL_MS:
        return None
    return f"Invalid value {interval_ms} for {INTERVAL_MS}, interval must be between 100 and 3600000 (1 hour)"


def match_problem(configs: Mapping[str, str]) -> str | None:
    """What is wrong with the patterns, or None. Python's `re` checks them; it lacks some of Java's character
    classes."""
    patterns = CLIENT_METRICS_CONFIG[MATCH].parse(configs.get(MATCH, ""))
    assert isinstance(patterns, list)
    for pattern in patterns:
        name, equals, value = pattern.partition("=")
        if not equals or not value or "=" in value or name.strip() not in _CLIENT_PROPERTIES or not _compiles(value):
            return f"Illegal client matching pattern: {pattern}"
    return None


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern.strip())
    except (re.error, RecursionError, OverflowError):
        return False
    return True
