"""Keys that have no effect: a warning at start, with the key that was probably meant."""

from __future__ import annotations

import pytest

from signalbox.common.config.properties_file import parse_properties
from signalbox.common.endpoint import SecurityProtocol
from signalbox.configuration.check.config_warnings import doubtful_keys, mechanisms_not_enabled, unknown_keys
from signalbox.configuration.check.keys_of_kafka import KEYS_OF_KAFKA
from signalbox.configuration.check.without_effect import WITHOUT_EFFECT
from signalbox.configuration.configuration import NODE_CONFIG, read_node_config
from tests.configuration.settings import VALUES, config_of

PROTOCOLS = {
    "client": SecurityProtocol.SASL_SSL,
    "client.eu": SecurityProtocol.SASL_SSL,
    "replication": SecurityProtocol.PLAINTEXT,
}


def test_unknown_keys_of_a_configuration_whose_listeners_are_not_known() -> None:
    properties = parse_properties("num.partition=1\nnode.id=one\nlistener.name.x.y=1\nnum.io.threads=8\n", "file")
    assert unknown_keys(properties, NODE_CONFIG) == (
        "file:1: num.partition is not a known key (did you mean num.partitions?)",
        "file:4: num.io.threads has no effect: one event loop does the work, there are no threads to count",
    )


@pytest.mark.spec("L5")
@pytest.mark.parametrize(
    ("key", "doubt"),
    [
        ("num.partitions", None),
        ("num.partition", "is not a known key (did you mean num.partitions?)"),
        ("zzzz", "is not a known key"),
        ("num.io.threads", "has no effect: one event loop does the work, there are no threads to count"),
        ("listener.name.client.ssl.keystore.location", None),
        ("listener.name.client.eu.ssl.keystore.location", None),
        ("listener.name.client.plain.sasl.jaas.config", None),
        ("listener.name.client.scram-sha-256.sasl.jaas.config", None),
        ("listener.name.client.plain.connections.max.reauth.ms", None),
        (
            "listener.name.client.plain.max.connections",
            "cannot be set for one mechanism: it holds for the whole listener",
        ),
        (
            "listener.name.client.sasl.jaas.config",
            "has no effect without a mechanism: write listener.name.client.<mechanism>.sasl.jaas.config",
        ),
        (
            "plain.sasl.jaas.config",
            "is read for one listener only: write listener.name.<listener>.plain.sasl.jaas.config",
        ),
        (
            "listener.name.replication.ssl.keystore.location",
            "has no effect: the listener REPLICATION is PLAINTEXT",
        ),
        (
            "listener.name.replication.plain.sasl.jaas.config",
            "has no effect: the listener REPLICATION is PLAINTEXT",
        ),
        ("listener.name.replication.max.connections", None),
        (
            "listener.name.client.ssl.keystore.locatio",
            "is not a known key (did you mean ssl.keystore.location?)",
        ),
        (
            "listener.name.clint.ssl.keystore.location",
            "is about a listener that is not in listeners (did you mean client?)",
        ),
        (
            "listener.name.CLIENT.ssl.keystore.location",
            "is about a listener that is not in listeners",
        ),
        ("listener.name.client.num.partitions", "cannot be set for one listener: it holds for the whole broker"),
        (
            "listener.name.client.ssl.provider",
            "has no effect: TLS is OpenSSL's here, there is no Java to choose it from",
        ),
        ("log.local.retention.ms", "has no effect: there is no tiered storage"),
        ("delete.retention.ms", "is not a known key (did you mean log.retention.ms?)"),
        ("listener.name.", "is about a listener that is not in listeners"),
    ],
)
def test_keys(key: str, doubt: str | None) -> None:
    found = dict(doubtful_keys({key: "x"}, PROTOCOLS, NODE_CONFIG))
    assert found == ({} if doubt is None else {key: doubt})


@pytest.mark.spec("L6")
def test_login_modules_of_mechanisms_that_are_not_enabled() -> None:
    given = {
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.client.eu.sasl.enabled.mechanisms": "SCRAM-SHA-256, PLAIN",
        "listener.name.client.PLAIN.sasl.jaas.config": "x",
        "listener.name.client.plian.sasl.jaas.config": "x",
        "listener.name.client.scram-sha-256.sasl.jaas.config": "x",
        "listener.name.client.eu.scram-sha-256.sasl.jaas.config": "x",
        "listener.name.replication.scram-sha-256.sasl.jaas.config": "x",
    }
    assert dict(mechanisms_not_enabled(given, PROTOCOLS)) == {
        "listener.name.client.plian.sasl.jaas.config": "is about a mechanism that CLIENT does not enable"
        " (did you mean plain?)",
        "listener.name.client.scram-sha-256.sasl.jaas.config": "is about a mechanism that CLIENT does not enable",
    }


def warnings_of(lines: str, **changes: str) -> list[str]:
    """The warnings about `lines`, followed by a valid configuration."""
    values = {**VALUES, **{key.replace("__", "."): value for key, value in changes.items()}}
    text = lines + "".join(f"{key}={value}\n" for key, value in values.items() if value)
    config, faults = read_node_config(parse_properties(text, "f"))
    assert config is not None, faults
    return [warning for warning in config.warnings if "cannot be distinguished from clients" not in warning]


@pytest.mark.parametrize(
    ("lines", "changes", "warning"),
    [
        ("num.partitions=3\n" * 2, {}, "f:1: num.partitions is set again in line 2, and that counts"),
        (
            "control.plane.force.controller.requests.enable=true\n",
            {"control__plane__listener__name": ""},
            "f:1: control.plane.force.controller.requests.enable has no effect: control.plane.listener.name is not set",
        ),
        ("a\\u001b[2J=1\n", {}, "f:1: a\\x1b[2J is not a known key"),
        (
            "audit.enable=false\n",
            {},
            "f:1: audit.enable is the old name of signalbox.audit.enable: the next release does not read it",
        ),
        ("control.plane.force.controller.requests.enable=true\n", {}, None),
        (
            "signalbox.advertised.check=refuse\n",
            {},
            "f:1: signalbox.advertised.check cannot withhold readiness:"
            " there is no /ready without signalbox.metrics.http.port",
        ),
        ("signalbox.advertised.check=refuse\n", {"signalbox__metrics__http__port": "0"}, None),
        (
            "sasl.jaas.config=x\n",
            {},
            "f:1: sasl.jaas.config is not read by a broker:"
            " write listener.name.<listener>.<mechanism>.sasl.jaas.config",
        ),
        (
            "ssl.client.auth=required\n",
            {"listener__security__protocol__map": "CLIENT:SASL_SSL,REPLICATION:SSL,CONTROL:SSL"},
            "f:1: ssl.client.auth does not hold on CLIENT, which is SASL_SSL:"
            " set listener.name.client.ssl.client.auth if it is meant to",
        ),
    ],
)
def test_keys_that_are_known_and_do_nothing(lines: str, changes: dict[str, str], warning: str | None) -> None:
    assert warnings_of(lines, **changes) == ([] if warning is None else [warning])


def test_unsupported_kafka_keys_are_not_keys_of_signalbox() -> None:
    assert [key for key in KEYS_OF_KAFKA if key in NODE_CONFIG] == []


def test_known_keys_without_effect_say_so() -> None:
    problems = dict(doubtful_keys({row.name: "" for row in NODE_CONFIG}, {}, NODE_CONFIG))
    assert problems == {key: f"has no effect: {why}" for key, why in WITHOUT_EFFECT.items() if key in NODE_CONFIG}
    config = config_of(ssl__provider="SunJSSE")
    assert any("ssl.provider has no effect" in warning for warning in config.warnings)
