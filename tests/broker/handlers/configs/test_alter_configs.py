"""AlterConfigs and IncrementalAlterConfigs at a real controller: one result per resource."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from signalbox.broker.configs.broker_loggers import BrokerLoggers
from signalbox.broker.handlers.configs.alter_configs import AlterConfigsHandler
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_configs import AlterConfigsRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of
from tests.broker.handlers.running_broker import RunningBroker

pytestmark = pytest.mark.spec("D15")

SET, DELETE, APPEND, SUBTRACT = range(4)


def change(resource_type: int, name: str, *entries: tuple[str, int, str | None]) -> Any:
    config = IncrementalAlterConfigsRequest.AlterableConfig
    return IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=resource_type,
        resource_name=name,
        configs=[config(name=key, config_operation=op, value=value) for key, op, value in entries],
    )


def ask(
    running_broker: RunningBroker, *resources: Any, authorizer: Any = ALLOW_ALL, version: int = 1, **more: Any
) -> list[Any]:
    handler = AlterConfigsHandler(ApiKey.INCREMENTAL_ALTER_CONFIGS, running_broker.components.controller, authorizer)
    body = IncrementalAlterConfigsRequest(resources=list(resources), **more)
    return list(running_broker.answer(handler, request_of(body, version)).responses)


def found(results: list[Any]) -> list[tuple[int, str, int]]:
    return [(r.resource_type, r.resource_name, r.error_code) for r in results]


@pytest.mark.parametrize("version", [0, 1])
def test_one_key_after_the_other(running_broker: RunningBroker, version: int) -> None:
    running_broker.create_topic("ac-1")
    for entry in (("retention.ms", SET, "5"), ("segment.bytes", SET, "2000000"), ("retention.ms", DELETE, None)):
        assert found(ask(running_broker, change(2, "ac-1", entry), version=version)) == [(2, "ac-1", 0)]


def test_each_resource_has_its_own_error(running_broker: RunningBroker) -> None:
    running_broker.create_topic("ac-2")
    running_broker.create_topic("ac-3")
    results = ask(
        running_broker,
        change(2, "ac-2", ("retention.ms", SET, "soon")),
        change(2, "ac-3", ("retention.ms", SET, "5")),
        change(2, "ac-nope", ("retention.ms", SET, "5")),
        change(99, "x", ("retention.ms", SET, "5")),
        change(2, "ac-twice", ("retention.ms", SET, "5")),
        change(2, "ac-twice", ("retention.ms", SET, "6")),
    )
    codes = {(kind, name): code for kind, name, code in found(results)}
    assert codes == {
        (2, "ac-2"): Error.INVALID_CONFIG,
        (2, "ac-3"): 0,
        (2, "ac-nope"): Error.UNKNOWN_TOPIC_OR_PARTITION,
        (99, "x"): Error.INVALID_REQUEST,
        (2, "ac-twice"): Error.INVALID_REQUEST,
    }
    assert len(results) == 6
    assert all(r.error_message for r in results if r.error_code)


@pytest.mark.parametrize(
    ("entries", "error"),
    [
        ([("retention.ms", SET, "5"), ("retention.ms", SET, "6")], Error.INVALID_REQUEST),
        ([("retention.ms", SET, None)], Error.INVALID_REQUEST),
        ([("retention.ms", 9, "5")], Error.INVALID_REQUEST),
        ([("nope", SET, "5")], Error.INVALID_CONFIG),
        ([("retention.ms", APPEND, "5")], Error.INVALID_CONFIG),
        ([("cleanup.policy", APPEND, "compact")], Error.NONE),
        ([], Error.NONE),
    ],
)
def test_entries(running_broker: RunningBroker, entries: list[tuple[str, int, str | None]], error: Error) -> None:
    running_broker.create_topic("ac-4")
    [(_, _, code)] = found(ask(running_broker, change(2, "ac-4", *entries), validate_only=True))
    assert code == error


@pytest.mark.parametrize(
    ("resource_type", "name", "error"),
    [(4, "", 0), (4, "1", 0), (4, "one", Error.INVALID_REQUEST), (8, "1", Error.INVALID_REQUEST)],
)
def test_brokers(running_broker: RunningBroker, resource_type: int, name: str, error: int) -> None:
    resource = change(resource_type, name, ("log.cleaner.threads", SET, "2"))
    [(_, _, code)] = found(ask(running_broker, resource, validate_only=True))
    assert code == error


def test_a_read_only_key_of_a_broker(running_broker: RunningBroker) -> None:
    [result] = ask(running_broker, change(4, "1", ("listeners", SET, "X://:1")), validate_only=True)
    assert result.error_code in (Error.INVALID_REQUEST, Error.INVALID_CONFIG)


def test_rights_are_looked_at_resource_by_resource(running_broker: RunningBroker) -> None:
    running_broker.create_topic("ac-5")
    results = ask(
        running_broker,
        change(2, "ac-5", ("retention.ms", SET, "5")),
        change(2, "ac-6", ("retention.ms", SET, "5")),
        change(4, "1", ("log.cleaner.threads", SET, "2")),
        authorizer=acl(("alice", "ALTER_CONFIGS", "ac-5"), ("alice", "DESCRIBE_CONFIGS", "ac-6")),
    )
    assert {(kind, name): code for kind, name, code in found(results)} == {
        (2, "ac-5"): 0,
        (2, "ac-6"): Error.TOPIC_AUTHORIZATION_FAILED,
        (4, "1"): Error.CLUSTER_AUTHORIZATION_FAILED,
    }


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_older_api_replaces_everything(running_broker: RunningBroker, version: int) -> None:
    running_broker.create_topic("ac-7")
    handler = AlterConfigsHandler(ApiKey.ALTER_CONFIGS, running_broker.components.controller, ALLOW_ALL)
    config, resource = AlterConfigsRequest.AlterableConfig, AlterConfigsRequest.AlterConfigsResource
    wanted = resource(resource_type=2, resource_name="ac-7", configs=[config(name="retention.ms", value="5")])
    null = resource(resource_type=2, resource_name="ac-8", configs=[config(name="retention.ms", value=None)])
    response = running_broker.answer(handler, request_of(AlterConfigsRequest(resources=[wanted, null]), version))
    codes = {result.resource_name: result.error_code for result in response.responses}
    assert codes["ac-7"] == 0
    assert codes["ac-8"] in (Error.INVALID_REQUEST, Error.INVALID_CONFIG, Error.UNKNOWN_TOPIC_OR_PARTITION)


def test_loggers_are_altered_locally_and_other_configs_by_the_controller(
    running_broker: RunningBroker,
) -> None:
    running_broker.create_topic("ac-9")
    logger = logging.getLogger("signalbox.altered")
    handler = AlterConfigsHandler(
        ApiKey.INCREMENTAL_ALTER_CONFIGS, running_broker.components.controller, ALLOW_ALL, loggers=BrokerLoggers(1)
    )

    def asked(*resources: Any, **more: Any) -> dict[tuple[int, str], int]:
        body = IncrementalAlterConfigsRequest(resources=list(resources), **more)
        results = running_broker.answer(handler, request_of(body, 1)).responses
        return {(kind, name): code for kind, name, code in found(results)}

    mine = change(8, "1", ("signalbox.altered", SET, "ERROR"))
    other = change(8, "2", ("signalbox.altered", SET, "ERROR"))
    assert asked(mine, other, change(2, "ac-9", ("retention.ms", SET, "5"))) == {
        (8, "1"): Error.NONE,
        (8, "2"): Error.INVALID_REQUEST,
        (2, "ac-9"): Error.NONE,
    }
    assert logger.level == logging.ERROR
    assert asked(change(8, "1", ("signalbox.altered", DELETE, None)), validate_only=True) == {(8, "1"): Error.NONE}
    assert logger.level == logging.ERROR
    assert asked(change(8, "1", ("signalbox.altered", DELETE, None))) == {(8, "1"): Error.NONE}
    assert logger.level == logging.NOTSET


@pytest.mark.spec("D15")
def test_configs_of_groups_are_stored_and_forgotten_with_their_last_key(running_broker: RunningBroker) -> None:
    key = "consumer.heartbeat.interval.ms"

    def kept() -> dict[str, str] | None:
        context = running_broker.components.controller.context
        assert context is not None
        return context.configs.get("groups/app%2F1")

    assert found(ask(running_broker, change(32, "app/1", (key, SET, "6000")))) == [(32, "app/1", 0)]
    assert kept() == {key: "6000"}
    assert found(ask(running_broker, change(32, "app/1", ("nope", SET, "1")))) == [(32, "app/1", Error.INVALID_CONFIG)]
    ask(running_broker, change(32, "app/1", (key, DELETE, None)))
    assert kept() is None


def test_client_metrics_are_stored_and_forgotten_with_their_last_key(running_broker: RunningBroker) -> None:
    def kept() -> dict[str, str] | None:
        context = running_broker.components.controller.context
        assert context is not None
        return context.configs.get("client-metrics/s")

    assert found(ask(running_broker, change(16, "s", ("interval.ms", SET, "100"), ("metrics", APPEND, "a,b")))) == [
        (16, "s", 0)
    ]
    assert kept() == {"interval.ms": "100", "metrics": "a,b"}
    assert found(ask(running_broker, change(16, "s", ("nope", SET, "1")))) == [(16, "s", Error.INVALID_REQUEST)]
    ask(running_broker, change(16, "s", ("interval.ms", DELETE, None), ("metrics", DELETE, None)))
    assert kept() is None
