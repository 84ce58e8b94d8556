"""Numbers of config requests: types of config resources, and operations of IncrementalAlterConfigs (KIP-339)."""

from __future__ import annotations

from enum import IntEnum


class ConfigResourceType(IntEnum):
    """ConfigResource.Type of Kafka's clients."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class AlterConfigOp(IntEnum):
    """AlterConfigOp.OpType of Kafka's clients."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3
