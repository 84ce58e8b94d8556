"""Resources that can be altered, and the configs that may be set on them."""

from __future__ import annotations

import pytest

from signalbox.common.config.config_table import ConfigRow, ConfigTable, ConfigType, Dynamic
from signalbox.controller.entities.config_resource import find_resource
from signalbox.protocol.config_resource import ConfigResourceType
from signalbox.protocol.error_table import Error, KafkaError
from tests.controller.cluster import inputs
from tests.controller.contexts import make_context

BROKER_KEYS = ConfigTable(
    (
        ConfigRow("log.retention.ms", ConfigType.LONG, 1, "", dynamic=Dynamic.CLUSTER_WIDE),
        ConfigRow("listeners", ConfigType.STRING, "", "", dynamic=Dynamic.PER_BROKER),
        ConfigRow(
            "ssl.key.password", ConfigType.PASSWORD, "", "", dynamic=Dynamic.PER_BROKER, per_listener=Dynamic.PER_BROKER
        ),
        ConfigRow("sasl.jaas.config", ConfigType.PASSWORD, "", "", per_listener=Dynamic.PER_BROKER, per_mechanism=True),
        ConfigRow(
            "max.connections", ConfigType.INT, 9, "", dynamic=Dynamic.CLUSTER_WIDE, per_listener=Dynamic.CLUSTER_WIDE
        ),
        ConfigRow("principal.builder.class", ConfigType.CLASS, "", "", per_listener=Dynamic.READ_ONLY),
        ConfigRow("ssl.enabled.protocols", ConfigType.LIST, ["TLSv1.3"], "", per_listener=Dynamic.PER_BROKER),
        ConfigRow("broker.id", ConfigType.INT, 0, ""),
    )
)
GIVEN = inputs(broker_config_table=BROKER_KEYS)
CONTEXT = make_context(
    1,
    7,
    topics={"t": {0: "1*"}, "going": {0: "1*"}},
    deleting={"going": frozenset()},
    configs={"brokers/1": {"broker.id": "1"}, "brokers/8": {}},
)
TOPIC, BROKER, METRICS = ConfigResourceType.TOPIC, ConfigResourceType.BROKER, ConfigResourceType.CLIENT_METRICS
GROUP = ConfigResourceType.GROUP


@pytest.mark.parametrize(
    ("kind", "name", "entity_path"),
    [
        (TOPIC, "t", "topics/t"),
        (BROKER, "1", "brokers/1"),
        (BROKER, "007", "brokers/7"),
        (BROKER, "8", "brokers/8"),  # not alive, but it has a config entry
        (BROKER, "", "brokers/<default>"),
        (METRICS, "slow clients", "client-metrics/slow%20clients"),
        (GROUP, "app/1", "groups/app%2F1"),
    ],
)
def test_found(kind: int, name: str, entity_path: str) -> None:
    assert find_resource(CONTEXT, GIVEN, kind, name).entity_path == entity_path


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (TOPIC, "none", Error.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "going", Error.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a b", Error.INVALID_TOPIC_EXCEPTION),
        (BROKER, "x", Error.INVALID_REQUEST),
        (BROKER, "-1", Error.INVALID_REQUEST),
        (BROKER, "99", Error.BROKER_ID_NOT_REGISTERED),
        (BROKER, "9" * 5000, Error.BROKER_ID_NOT_REGISTERED),
        (ConfigResourceType.BROKER_LOGGER, "1", Error.INVALID_REQUEST),
        (METRICS, "", Error.INVALID_REQUEST),
        (GROUP, "", Error.INVALID_REQUEST),
        (99, "1", Error.INVALID_REQUEST),
    ],
)
def test_not_found(kind: int, name: str, error: Error) -> None:
    with pytest.raises(KafkaError) as rejected:
        find_resource(CONTEXT, GIVEN, kind, name)
    assert rejected.value.error is error


@pytest.mark.parametrize(
    ("name", "configs", "error"),
    [
        ("1", {"log.retention.ms": "5", "some.plugins.key": "x"}, None),
        ("1", {"listeners": "A://:0"}, None),
        ("", {"listeners": "A://:0"}, Error.INVALID_REQUEST),
        ("1", {"ssl.key.password": "x"}, Error.INVALID_REQUEST),  # only with a listener prefix
        ("1", {"listener.name.client.ssl.key.password": "x"}, None),
        ("", {"listener.name.client.ssl.key.password": "x"}, Error.INVALID_REQUEST),
        ("1", {"listener.name.client.plain.sasl.jaas.config": "x"}, None),
        ("1", {"listener.name.client.sasl.jaas.config": "x"}, None),
        ("1", {"sasl.jaas.config": "x"}, Error.INVALID_REQUEST),
        ("1", {"listener.name.client.principal.builder.class": "x"}, Error.INVALID_REQUEST),
        ("1", {"listener.name.client.broker.id": "1"}, Error.INVALID_REQUEST),
        ("1", {"listener.name.client.no.such.key": "1"}, Error.INVALID_REQUEST),
        ("1", {"broker.id": "2"}, Error.INVALID_REQUEST),
        ("1", {"broker.id": "1"}, None),  # unchanged value
        ("1", {"listener.name.client.max.connections": "5", "max.connections": "0"}, None),
        ("", {"listener.name.client.max.connections": "5", "max.connections": "0"}, None),
        ("1", {"listener.name.client.max.connections": "0"}, Error.INVALID_CONFIG),
        ("1", {"listener.name.client.max.connections": "many"}, Error.INVALID_CONFIG),
        ("1", {"log.retention.ms": "x"}, Error.INVALID_CONFIG),
    ],
)
def test_broker_keys(name: str, configs: dict[str, str], error: Error | None) -> None:
    resource = find_resource(CONTEXT, GIVEN, BROKER, name)
    if error is None:
        resource.reject(configs)
        assert resource.is_broker
        return
    with pytest.raises(KafkaError) as rejected:
        resource.reject(configs)
    assert rejected.value.error is error


def test_lists() -> None:
    topic = find_resource(CONTEXT, GIVEN, TOPIC, "t")
    assert topic.is_list("cleanup.policy")
    assert not topic.is_list("retention.ms")
    assert not topic.is_list("no.such")
    assert topic.default_list("cleanup.policy") == ["delete"]
    broker, name = find_resource(CONTEXT, GIVEN, BROKER, "1"), "listener.name.client.ssl.enabled.protocols"
    assert (broker.is_list(name), broker.default_list(name)) == (True, ["TLSv1.3"])


@pytest.mark.parametrize(
    ("configs", "error", "message"),
    [
        ({"random": "1"}, Error.INVALID_REQUEST, "Unknown client metrics configuration: random"),
        (
            {"interval.ms": "99"},
            Error.INVALID_REQUEST,
            "Invalid value 99 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        ),
        ({"interval.ms": "soon"}, Error.INVALID_CONFIG, "Invalid value soon for configuration interval.ms"),
        ({"match": "10"}, Error.INVALID_CONFIG, "Illegal client matching pattern: 10"),
        ({"match": "client_id=[a"}, Error.INVALID_CONFIG, "Illegal client matching pattern: client_id=[a"),
        ({"match": "shoe_size=1"}, Error.INVALID_CONFIG, "Illegal client matching pattern: shoe_size=1"),
    ],
)
def test_what_a_subscription_cannot_say(configs: dict[str, str], error: Error, message: str) -> None:
    with pytest.raises(KafkaError) as rejected:
        find_resource(CONTEXT, GIVEN, METRICS, "s").reject(configs)
    assert rejected.value.error is error
    assert rejected.value.message.startswith(message)


def test_what_a_subscription_can_say() -> None:
    configs = {
        "interval.ms": "100",
        "metrics": "org.apache.kafka.producer.",
        "match": "client_id=a.*, client_source_port=90..",
    }
    find_resource(CONTEXT, GIVEN, METRICS, "s").reject(configs)


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"retention.ms": "1"}, "Unknown group config name: retention.ms"),
        ({"consumer.session.timeout.ms": "1"}, "Invalid value 1 for configuration consumer.session.timeout.ms"),
        (
            {"streams.rack.aware.assignment.tags": "zone,zone"},
            "streams.rack.aware.assignment.tags must not contain duplicate tag keys.",
        ),
    ],
)
def test_what_a_group_cannot_have(configs: dict[str, str], message: str) -> None:
    with pytest.raises(KafkaError) as rejected:
        find_resource(CONTEXT, GIVEN, GROUP, "g").reject(configs)
    assert rejected.value.error is Error.INVALID_CONFIG
    assert message in rejected.value.message


def test_configs_of_a_topic_that_exclude_each_other() -> None:
    with pytest.raises(KafkaError) as rejected:
        find_resource(CONTEXT, GIVEN, TOPIC, "t").reject({"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"})
    assert rejected.value.error is Error.INVALID_CONFIG
    assert "min.compaction.lag.ms (2) > max.compaction.lag.ms (1)" in rejected.value.message
