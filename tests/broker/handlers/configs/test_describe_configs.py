"""DescribeConfigs: sources, synonyms, secrets; a broker describes only its own broker configs."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from signalbox.broker.configs.config_description import ConfigDescription
from signalbox.broker.handlers.configs.describe_configs import DescribeConfigsHandler
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_configs import DescribeConfigsRequest
from tests.broker.handler_requests import ALLOW_ALL, LoadedConfigs, acl, cache_of, request_of, response_to

pytestmark = pytest.mark.spec("D15")

STATIC = {"log.retention.ms": "1000", "ssl.keystore.password": "hunter-2-open", "num.partitions": "3"}


CONFIGS = {
    "topics/t": {"retention.ms": "77"},
    "brokers/1": {"log.retention.ms": "300"},
    "brokers/<default>": {"log.retention.ms": "200", "log.cleaner.threads": "2"},
    "client-metrics/s": {"interval.ms": "60000"},
    "groups/g": {"consumer.session.timeout.ms": "50000"},
}


def ask(resource_type: int, name: str, version: int = 4, authorizer: Any = ALLOW_ALL, **more: Any) -> Any:
    keys = more.pop("keys", None)
    description = ConfigDescription(1, NODE_CONFIG, STATIC, LoadedConfigs(CONFIGS))
    cache = cache_of(topics={"t": {0: (1, [1])}, "u": {0: (1, [1])}})
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=resource_type, resource_name=name, configuration_keys=keys
    )
    body = DescribeConfigsRequest(resources=[resource], **more)
    [result] = response_to(DescribeConfigsHandler(description, cache, 1, authorizer), request_of(body, version)).results
    assert (result.resource_type, result.resource_name) == (resource_type, name)
    return result


def values(result: Any) -> dict[str, tuple[str | None, int]]:
    return {config.name: (config.value, config.config_source) for config in result.configs}


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_a_topics_configs_with_where_they_come_from(version: int) -> None:
    assert values(ask(2, "t", version))["retention.ms"] == ("77", 1)
    assert values(ask(2, "u", version))["retention.ms"] == ("300", 2)
    assert values(ask(2, "u", version))["cleanup.policy"] == ("delete", 5)


def test_synonyms_in_order_of_precedence_if_asked_for() -> None:
    [config] = ask(2, "t", keys=["retention.ms"], include_synonyms=True).configs
    assert [(s.name, s.value, s.source) for s in config.synonyms][:4] == [
        ("retention.ms", "77", 1),
        ("log.retention.ms", "300", 2),
        ("log.retention.ms", "200", 3),
        ("log.retention.ms", "1000", 4),
    ]
    [config] = ask(2, "t", keys=["retention.ms"]).configs
    assert (config.synonyms, config.documentation) == ([], None)
    [config] = ask(2, "t", keys=["retention.ms"], include_documentation=True).configs
    assert config.documentation


@pytest.mark.parametrize(("keys", "count"), [(None, None), ([], None), (["retention.ms", "nope"], 1), (["nope"], 0)])
def test_which_keys(keys: list[str] | None, count: int | None) -> None:
    found = len(ask(2, "t", keys=keys).configs)
    assert found == count if count is not None else found > 20


def test_a_broker_answers_for_itself() -> None:
    found = values(ask(4, "1"))
    assert found["num.partitions"] == ("3", 4)
    assert found["log.retention.ms"] == ("300", 2)
    result = ask(4, "2")
    assert (result.error_code, result.configs) == (Error.INVALID_REQUEST, [])
    assert result.error_message == "Unexpected broker id, expected 1 or empty string, but received 2"


def test_the_defaults_of_all_brokers_are_those_that_were_set() -> None:
    found = ask(4, "")
    assert all(config.config_source == 3 for config in found.configs)
    assert values(found)["log.retention.ms"] == ("200", 3)


def test_passwords_are_never_shown() -> None:
    [config] = ask(4, "1", keys=["ssl.keystore.password"], include_synonyms=True).configs
    assert (config.value, config.is_sensitive) == (None, True)
    assert {synonym.value for synonym in config.synonyms} == {None}
    assert "hunter-2-open" not in repr(ask(4, "1", include_synonyms=True))


def test_read_only() -> None:
    configs = {config.name: config for config in ask(4, "1").configs}
    assert configs["node.id"].read_only
    assert not configs["log.retention.ms"].read_only
    assert not any(config.read_only for config in ask(2, "t").configs)


@pytest.mark.parametrize(
    ("resource_type", "name", "error"),
    [
        (2, "nope", Error.UNKNOWN_TOPIC_OR_PARTITION),
        (2, "", Error.INVALID_TOPIC_EXCEPTION),
        (2, "a/b", Error.INVALID_TOPIC_EXCEPTION),
        (4, "one", Error.INVALID_REQUEST),
        (8, "2", Error.INVALID_REQUEST),
        (8, "", Error.INVALID_REQUEST),
        (16, "", Error.INVALID_REQUEST),
        (32, "", Error.INVALID_REQUEST),
        (0, "x", Error.INVALID_REQUEST),
        (99, "x", Error.INVALID_REQUEST),
    ],
)
def test_resources_that_are_none(resource_type: int, name: str, error: Error) -> None:
    assert ask(resource_type, name).error_code == error


@pytest.mark.parametrize(
    ("resource_type", "name", "error"),
    [
        (2, "t", Error.TOPIC_AUTHORIZATION_FAILED),
        (4, "1", Error.CLUSTER_AUTHORIZATION_FAILED),
        (8, "1", Error.CLUSTER_AUTHORIZATION_FAILED),
        (16, "s", Error.CLUSTER_AUTHORIZATION_FAILED),
        (32, "g", Error.GROUP_AUTHORIZATION_FAILED),
    ],
)
def test_without_the_right(resource_type: int, name: str, error: Error) -> None:
    result = ask(resource_type, name, authorizer=acl(("bob", "READ", "t")))
    assert (result.error_code, result.configs) == (error, [])


def test_a_group_with_its_own_values_and_the_defaults() -> None:
    own, other = values(ask(32, "g")), values(ask(32, "another"))
    assert own["consumer.session.timeout.ms"] == ("50000", 8)
    assert other["consumer.session.timeout.ms"] == ("45000", 5)
    assert own["share.auto.offset.reset"] == ("latest", 5)
    assert own.keys() == other.keys()
    assert len(own) == 21, "the internal keys are not described"


def test_a_subscription_with_its_own_values_and_the_defaults() -> None:
    result = ask(16, "s", include_synonyms=True)
    assert values(result) == {"metrics": ("", 5), "interval.ms": ("60000", 7), "match": ("", 5)}
    synonyms = {config.name: [(s.name, s.value, s.source) for s in config.synonyms] for config in result.configs}
    assert synonyms == {"metrics": [], "interval.ms": [("interval.ms", "60000", 7)], "match": []}
    assert values(ask(16, "unknown"))["interval.ms"] == ("300000", 5), (
        "a subscription that does not exist has the defaults"
    )


def test_loggers_with_the_levels_that_hold() -> None:
    logging.getLogger("signalbox.shown.here").setLevel(logging.WARNING)
    result = ask(8, "1", keys=["signalbox.shown", "signalbox.shown.here"])
    assert values(result)["signalbox.shown.here"] == ("WARN", 6)
    assert {config.config_type for config in result.configs} == {0}
    assert "signalbox.shown" in values(result), "also what is only a part of longer names"
    assert "root" in values(ask(8, "1"))
    rejected = ask(8, "2")
    assert rejected.error_message == "Unexpected broker id, expected 1 but received 2"
