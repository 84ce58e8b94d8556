"""Configs that only the broker itself can validate, and those that it leaves to the controller."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from signalbox.broker.configs.broker_config_validator import BrokerConfigValidator, Validation
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.metadata.entries.entity_config import Configs
from signalbox.metadata.store.port import StoreUnavailable
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_configs import AlterConfigsRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tests.broker.handler_requests import LoadedConfigs

SET, DELETE = 0, 1
TOPIC, BROKER = 2, 4
KEYSTORE = "listener.name.tls.ssl.keystore.location"
OWN, FOR_ALL = {"listener.name.client.max.connections": "5", KEYSTORE: "/k"}, {"max.connections": "9"}


class UnavailableStore(LoadedConfigs):
    async def catch_up(self) -> None:
        raise StoreUnavailable("the store is away")  # validated by the configs that are already loaded


class ConfigValidator:
    def __init__(self, *faults: str, warnings: Sequence[str] = ()) -> None:
        self._warnings = warnings
        self.asked: list[tuple[Configs | None, Configs | None]] = []
        self.again: list[str] = []
        self._faults = list(faults)

    async def __call__(self, for_all: Configs | None, for_this: Configs | None) -> Validation:
        self.asked.append((for_all, for_this))
        return Validation(self._faults, self._warnings)


def resource(name: str, changes: Mapping[str, str | None], kind: int = BROKER) -> Any:
    entry = IncrementalAlterConfigsRequest.AlterableConfig
    return IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            entry(name=key, value=value, config_operation=DELETE if value is None else SET)
            for key, value in changes.items()
        ],
    )


def rejection(
    validator: ConfigValidator, asked: Any, key: ApiKey = ApiKey.INCREMENTAL_ALTER_CONFIGS, validate_only: bool = False
) -> tuple[Error, str] | None:
    own = BrokerConfigValidator(1, NODE_CONFIG, UnavailableStore({"brokers/1": OWN, "brokers/<default>": FOR_ALL}))
    own.validator, own.revalidate = validator, validator.again.extend
    return asyncio.run(own.rejection(key, asked, validate_only))


@pytest.mark.parametrize(
    ("name", "changes", "asked"),
    [
        ("1", {"max.connections": "3"}, (None, {**OWN, "max.connections": "3"})),
        ("1", {"listener.name.client.max.connections": None}, (None, {KEYSTORE: "/k"})),
        ("1", {"listener.name.tls.ssl.key.password": "x"}, (None, {**OWN, "listener.name.tls.ssl.key.password": "x"})),
        ("", {"max.connections": None}, ({}, None)),
    ],
)
def test_the_validator_gets_all_configs_that_would_be_set(
    name: str, changes: Mapping[str, str | None], asked: tuple[Configs | None, Configs | None]
) -> None:
    validator = ConfigValidator()
    assert rejection(validator, resource(name, changes)) is None
    assert validator.asked == [asked]


def test_the_old_form_replaces_everything() -> None:
    validator = ConfigValidator()
    entry = AlterConfigsRequest.AlterableConfig(name="max.connections", value="3")
    asked = AlterConfigsRequest.AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=[entry])
    assert rejection(validator, asked, ApiKey.ALTER_CONFIGS) is None
    assert validator.asked == [(None, {"max.connections": "3"})]


@pytest.mark.parametrize(
    "asked",
    [
        resource("t", {"max.connections": "3"}, TOPIC),
        resource("1", {"log.retention.ms": "3"}),
        resource("2", {"log.retention.ms": "3"}),
        resource("1", {"num.partitions": "3"}),  # the controller rejects it
        resource("1", {"a.plugins.key": "3"}),
    ],
)
def test_what_is_not_about_its_listeners_is_left_to_the_controller(asked: Any) -> None:
    validator = ConfigValidator("never asked")
    assert rejection(validator, asked) is None
    assert validator.asked == []


@pytest.mark.parametrize(
    ("asked", "error", "reason"),
    [
        (resource("2", {"max.connections": "3"}), Error.INVALID_REQUEST, "Unexpected broker id, expected 1 or empty"),
        (resource("1", {"max.connections": "many"}), Error.INVALID_CONFIG, "is not a whole number"),
        (resource("1", {"ssl.key.password": "x"}), Error.INVALID_REQUEST, "only per-listener"),
        (resource("1", {"listener.name.client.no.such": "x"}), Error.INVALID_REQUEST, "Cannot update"),
        (resource("", {"listener.name.tls.ssl.key.password": "x"}), Error.INVALID_REQUEST, "at default cluster level"),
        (resource("1", {"max.connections": "3"}), Error.INVALID_REQUEST, "resource BROKER 1: one; two"),
        (resource("", {"max.connections": "3"}), Error.INVALID_REQUEST, "resource BROKER (all): one; two"),
    ],
)
def test_rejected(asked: Any, error: Error, reason: str) -> None:
    found = rejection(ConfigValidator("one", "two"), asked)
    assert found is not None
    assert found[0] is error
    assert reason in found[1]


@pytest.mark.parametrize(
    ("changes", "validate_only", "again"),
    [
        ({KEYSTORE: "/k"}, False, [KEYSTORE]),
        ({KEYSTORE: "/k"}, True, []),
        ({KEYSTORE: "/other"}, False, []),  # the watcher of the store reports this change
        ({"listener.name.client.max.connections": "5"}, False, []),
    ],
)
def test_a_file_named_again_is_looked_at_again(
    changes: Mapping[str, str | None], validate_only: bool, again: list[str]
) -> None:
    validator = ConfigValidator()
    assert rejection(validator, resource("1", changes), validate_only=validate_only) is None
    assert validator.again == again


def test_validate_only_returns_the_connections_that_would_be_closed(caplog: pytest.LogCaptureFixture) -> None:
    asked = resource("1", {"max.connections.per.ip": "1"})
    warned = ConfigValidator(warnings=["10.0.0.7 has 3", "10.0.0.8 has 2"])
    assert rejection(warned, asked, validate_only=True) == (Error.NONE, "10.0.0.7 has 3; 10.0.0.8 has 2")
    assert caplog.messages == []
    assert rejection(warned, asked) is None
    assert caplog.messages == [
        f"Dynamic configs of listeners accepted with a warning: {each}" for each in ("10.0.0.7 has 3", "10.0.0.8 has 2")
    ]
