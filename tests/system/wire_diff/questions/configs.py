"""Configs: described and altered."""

from __future__ import annotations

from typing import Any

from signalbox.protocol.api_table import ApiKey
from tests.system.wire_diff.question import Question

_Q = Question
_TOPIC, _BROKER, _LOGGER, _METRICS, _GROUP = 2, 4, 8, 16, 32
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


def _describe(what: str, kind: int, name: str, *keys: str, synonyms: bool = True) -> Question:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": list(keys) or None}
    return _Q(ApiKey.DESCRIBE_CONFIGS, what, {"resources": [resource], "include_synonyms": synonyms})


def _alter(
    what: str, kind: int, name: str, key: str, value: str | None, operation: int = _SET, **more: Any
) -> Question:
    config = {"name": key, "value": value, "config_operation": operation}
    resource = {"resource_type": kind, "resource_name": name, "configs": [config]}
    return _Q(ApiKey.INCREMENTAL_ALTER_CONFIGS, what, {"resources": [resource], **more})


def _replace(what: str, kind: int, name: str, key: str, value: str | None) -> Question:
    resource = {"resource_type": kind, "resource_name": name, "configs": [{"name": key, "value": value}]}
    return _Q(ApiKey.ALTER_CONFIGS, what, {"resources": [resource]})


CONFIGS = (
    _describe("a topic", _TOPIC, "t7"),
    _describe("a topic with configs", _TOPIC, "c7", "retention.ms", "segment.bytes"),
    _describe("a topic without synonyms", _TOPIC, "c7", "retention.ms", synonyms=False),
    _describe("a key that does not exist", _TOPIC, "t7", "no.such"),
    _describe("an unknown topic", _TOPIC, "nowhere"),
    _describe("a bad topic name", _TOPIC, "a b"),
    _describe("some of a broker", _BROKER, "1", "broker.id", "node.id", "num.io.threads", "log.retention.ms"),
    _describe("some passwords of a broker", _BROKER, "1", "delegation.token.secret.key", "ssl.key.password"),
    _describe("the defaults of all brokers", _BROKER, ""),
    _describe("a broker that is not there", _BROKER, "7"),
    _describe("a broker whose id is no number", _BROKER, "x"),
    _describe("loggers of a broker that is not there", _LOGGER, "7"),
    _describe("a subscription that is not there", _METRICS, "none"),
    _describe("a subscription without a name", _METRICS, ""),
    _describe("a group that is not there", _GROUP, "none"),
    _describe("a type that does not exist", 77, "x"),
    _alter("a topic's config", _TOPIC, "t7", "retention.ms", "5000000"),
    _alter("a topic's list, appended", _TOPIC, "t7", "cleanup.policy", "compact", _APPEND),
    _alter("a topic's list, subtracted", _TOPIC, "t7", "cleanup.policy", "compact", _SUBTRACT),
    _alter("a topic's number, appended", _TOPIC, "t7", "retention.ms", "1", _APPEND),
    _alter("taken back", _TOPIC, "t7", "retention.ms", None, _DELETE),
    _alter("validated only", _TOPIC, "t7", "retention.ms", "7", validate_only=True),
    _alter("a key that does not exist", _TOPIC, "t7", "no.such", "1"),
    _alter("a value out of range", _TOPIC, "t7", "min.insync.replicas", "0"),
    _alter("no value", _TOPIC, "t7", "retention.ms", None),
    _alter("an operation that does not exist", _TOPIC, "t7", "retention.ms", "1", 9),
    _alter("an unknown topic", _TOPIC, "nowhere", "retention.ms", "1"),
    _alter("a read-only key of a broker", _BROKER, "1", "log.dirs", "/x"),
    _alter("a key of a broker that is not known", _BROKER, "1", "no.such.key", "1"),
    _alter("a key of a broker", _BROKER, "1", "log.cleaner.threads", "2"),
    _alter("a default of all brokers", _BROKER, "", "log.retention.ms", "90000000"),
    _alter("a broker that is not there", _BROKER, "7", "log.retention.ms", "90000000"),
    _alter("a broker whose id is no number", _BROKER, "x", "log.retention.ms", "90000000"),
    _alter("a subscription", _METRICS, "sub", "interval.ms", "1000"),
    _alter("a subscription's key that does not exist", _METRICS, "sub", "no.such", "1000"),
    _alter("a group's config", _GROUP, "g", "consumer.session.timeout.ms", "50000"),
    _alter("a type that does not exist", 77, "x", "a", "b"),
    _describe("what a broker was given", _BROKER, "1", "log.cleaner.threads", "no.such.key", "log.retention.ms"),
    _describe("a default that was given to all brokers", _BROKER, "", "log.retention.ms"),
    _describe("a subscription", _METRICS, "sub"),
    _describe("a topic under a default of all brokers", _TOPIC, "t7", "retention.ms"),
    _replace("a topic's configs", _TOPIC, "c2", "retention.ms", "7000000"),
    _replace("a key that does not exist", _TOPIC, "c2", "no.such", "1"),
    _replace("no value", _TOPIC, "c2", "retention.ms", None),
    _replace("an unknown topic", _TOPIC, "nowhere", "retention.ms", "1"),
    _replace("a broker's loggers", _LOGGER, "1", "kafka", "INFO"),
    _replace("a group's config", _GROUP, "g", "consumer.session.timeout.ms", "50000"),
    _Q(ApiKey.LIST_CONFIG_RESOURCES, "all"),
    _Q(ApiKey.LIST_CONFIG_RESOURCES, "subscriptions", {"resource_types": [_METRICS]}, (1,)),
    _Q(ApiKey.LIST_CONFIG_RESOURCES, "topics and brokers", {"resource_types": [_TOPIC, _BROKER]}, (1,)),
    _Q(ApiKey.LIST_CONFIG_RESOURCES, "loggers", {"resource_types": [_LOGGER]}, (1,)),
    _Q(ApiKey.LIST_CONFIG_RESOURCES, "a type that does not exist", {"resource_types": [77]}, (1,)),
    _alter("the default of all brokers taken back", _BROKER, "", "log.retention.ms", None, _DELETE),
    _alter("the subscription taken back", _METRICS, "sub", "interval.ms", None, _DELETE),
)
