"""Source of a config value, and the unit in which it is returned."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from signalbox.broker.configs.config_description import ConfigDescription, DescribedConfig
from signalbox.broker.configs.kafka_dynamic_configs import KAFKA_DYNAMIC_CONFIGS
from signalbox.common.config.config_table import ConfigType
from signalbox.configuration.configuration import NODE_CONFIG
from signalbox.metadata.effective_config import ConfigSource
from tests.broker.handler_requests import LoadedConfigs


def _repository(
    topic: Mapping[str, str], defaults: Mapping[str, str], broker: Mapping[str, str] | None = None
) -> LoadedConfigs:
    """Dynamic configs of topic t, of all brokers, and of broker 1."""
    return LoadedConfigs({"topics/t": topic, "brokers/<default>": defaults, "brokers/1": broker or {}})


def described(
    name: str,
    static: Mapping[str, str] | None = None,
    topic: Mapping[str, str] | None = None,
    defaults: Mapping[str, str] | None = None,
) -> DescribedConfig:
    description = ConfigDescription(1, NODE_CONFIG, static or {}, _repository(topic or {}, defaults or {}))
    return next(config for config in description.topic("t") if config.name == name)


@pytest.mark.parametrize(
    ("static", "value", "source", "names"),
    [
        ({}, "604800000", ConfigSource.DEFAULT_CONFIG, []),  # as in Kafka: a default of another key is no synonym
        ({"log.retention.hours": "2"}, "7200000", ConfigSource.STATIC_BROKER_CONFIG, ["log.retention.hours"] * 2),
        (
            {"log.retention.hours": "2", "log.retention.ms": "5"},
            "5",
            ConfigSource.STATIC_BROKER_CONFIG,
            ["log.retention.ms", "log.retention.hours", "log.retention.hours"],
        ),
        ({"log.retention.hours": "-1"}, "-1", ConfigSource.STATIC_BROKER_CONFIG, ["log.retention.hours"] * 2),
    ],
)
def test_a_time_given_in_hours_is_shown_in_milliseconds(
    static: Mapping[str, str], value: str, source: ConfigSource, names: list[str]
) -> None:
    found = described("retention.ms", static)
    assert (found.value, found.source) == (value, source)
    assert [synonym[0] for synonym in found.synonyms] == names


def test_the_nearest_setting_wins() -> None:
    found = described(
        "retention.ms", {"log.retention.ms": "5"}, {"retention.ms": "7"}, {"log.retention.ms": "6"}
    )  # fmt: skip
    assert (found.value, found.source) == ("7", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert [value for _, value, _ in found.synonyms] == ["7", "6", "5", "168"]


def test_every_topic_config_has_a_value() -> None:
    description = ConfigDescription(1, NODE_CONFIG, {}, _repository({}, {}))
    assert [config.name for config in description.topic("t") if config.value is None] == []


def test_a_stored_value_of_a_key_that_only_a_restart_changes_does_not_count() -> None:
    values = _repository({}, {"num.partitions": "5", "log.retention.ms": "7"})
    description = ConfigDescription(1, NODE_CONFIG, {"num.partitions": "9"}, values)
    found = {config.name: config for config in description.broker()}
    assert (found["num.partitions"].value, found["num.partitions"].source) == ("9", ConfigSource.STATIC_BROKER_CONFIG)
    assert found["log.retention.ms"].value == "7"
    assert [config.name for config in description.broker_defaults()] == ["log.retention.ms"]


@pytest.mark.spec("L5")
def test_keys_of_single_listeners_are_shown_where_they_are_set() -> None:
    dynamic = {"listener.name.client.max.connections": "2", "listener.name.client.plain.sasl.jaas.config": "secret"}
    static = {"listener.name.client.max.connections": "4", "listener.name.b.principal.builder.class": "x"}
    description = ConfigDescription(1, NODE_CONFIG, static, _repository({}, {"max.connections": "9"}, dynamic))
    found = {config.name: config for config in description.broker() if config.name.startswith("listener.name.")}
    limit = found["listener.name.client.max.connections"]
    assert (limit.value, limit.source, limit.read_only) == ("2", ConfigSource.DYNAMIC_BROKER_CONFIG, False)
    assert [(name, value) for name, value, _ in limit.synonyms] == [
        ("listener.name.client.max.connections", "2"),
        ("listener.name.client.max.connections", "4"),
        ("max.connections", "9"),
        ("max.connections", "2147483647"),
    ]
    secret = found["listener.name.client.plain.sasl.jaas.config"]
    assert (secret.value, secret.sensitive, {value for _, value, _ in secret.synonyms}) == (None, True, {None})
    assert found["listener.name.b.principal.builder.class"].read_only
    assert len(found) == 3


def test_limits_of_all_brokers_listeners_are_among_the_defaults() -> None:
    defaults = {"listener.name.client.max.connections": "2", "listener.name.client.ssl.key.password": "x"}
    description = ConfigDescription(1, NODE_CONFIG, {}, _repository({}, defaults))
    shown = {config.name: config.value for config in description.broker_defaults()}
    assert shown["listener.name.client.max.connections"] == "2"
    assert shown.get("listener.name.client.ssl.key.password") is None


@pytest.mark.spec("D15")
def test_stored_keys_that_have_no_row_are_described_with_their_source() -> None:
    stored = {"log.cleaner.threads": "2", "no.such.key": "secret?"}
    description = ConfigDescription(
        1, NODE_CONFIG, {}, _repository({}, {"num.io.threads": "4", "no.such.default": "x"}, stored)
    )
    found = {config.name: config for config in description.broker()}
    cleaner = found["log.cleaner.threads"]  # a key of Kafka: value and type are returned
    assert (cleaner.value, cleaner.source, cleaner.type) == ("2", ConfigSource.DYNAMIC_BROKER_CONFIG, ConfigType.INT)
    assert [(value, source) for _, value, source in cleaner.synonyms] == [("2", 2), ("1", 5)]
    unknown = found["no.such.key"]  # as in Kafka: it may be a secret of a plugin
    assert (unknown.value, unknown.source, unknown.type) == (None, ConfigSource.DYNAMIC_BROKER_CONFIG, None)
    assert (unknown.sensitive, unknown.read_only, unknown.synonyms) == (True, True, [("no.such.key", None, 2)])
    assert found["num.io.threads"].source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    assert {config.name: config.value for config in description.broker_defaults()} == {
        "num.io.threads": "4",
        "no.such.default": None,
    }


@pytest.mark.spec("D15")
@pytest.mark.parametrize("key", ["node.id", "broker.id"])
def test_both_ids_are_set_by_either(key: str) -> None:
    description = ConfigDescription(7, NODE_CONFIG, {key: "7"}, _repository({}, {}))
    found = {config.name: config for config in description.broker()}
    for name in ("broker.id", "node.id"):
        assert (found[name].value, found[name].source) == ("7", ConfigSource.STATIC_BROKER_CONFIG)
    assert [value for _, value, _ in found["broker.id"].synonyms] == ["7", "-1"]


@pytest.mark.spec("D15")
def test_what_is_set_nowhere_and_has_no_default_of_its_own_has_no_synonym() -> None:
    description = ConfigDescription(1, NODE_CONFIG, {}, _repository({}, {}))
    found = {config.name: config for config in description.broker()}
    assert (found["ssl.key.password"].synonyms, found["log.retention.ms"].synonyms) == ([], [])
    assert (found["log.retention.ms"].value, found["log.retention.ms"].source) == (None, ConfigSource.DEFAULT_CONFIG)
    assert described("remote.storage.enable").synonyms == []
    assert described("remote.storage.enable").value == "false"


def test_a_key_with_others_that_stand_in_for_it_names_them_behind_itself() -> None:
    description = ConfigDescription(1, NODE_CONFIG, {}, _repository({}, {"log.retention.ms": "6"}))
    found = {config.name: config for config in description.broker()}
    assert [(name, value) for name, value, _ in found["log.retention.ms"].synonyms] == [
        ("log.retention.ms", "6"),
        ("log.retention.hours", "168"),
    ]


def test_keys_of_kafka_have_no_row_of_our_own() -> None:
    assert [row.name for row in KAFKA_DYNAMIC_CONFIGS if row.name in NODE_CONFIG] == []
