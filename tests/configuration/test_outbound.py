"""Connections of this broker to other brokers: with the listener's security and the server's own credentials."""

from __future__ import annotations

import pytest

from signalbox.client.connection.connection_settings import PLAINTEXT
from signalbox.common.endpoint import SecurityProtocol
from signalbox.configuration.outbound import connection_settings, outbound_security, own_mechanism_faults
from signalbox.network.listeners.network_settings import read_network_settings

PREFIX = "listener.name.replication."
JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="b" password="secret";'


def security(protocol: SecurityProtocol, **given: str) -> tuple[object, list[str]]:
    values = {key.replace("__", "."): value for key, value in given.items()}
    settings, faults = read_network_settings(values, ["REPLICATION"])
    assert faults == []
    found, more = outbound_security("REPLICATION", protocol, settings)
    return found, [f"{fault.key}: {fault.problem}" for fault in more]


def test_plaintext_needs_nothing() -> None:
    assert security(SecurityProtocol.PLAINTEXT) == (PLAINTEXT, [])


def test_sasl_with_the_servers_own_credentials() -> None:
    found, faults = security(
        SecurityProtocol.SASL_PLAINTEXT,
        sasl__mechanism__inter__broker__protocol="PLAIN",
        listener__name__replication__plain__sasl__jaas__config=JAAS,
    )
    assert faults == []
    assert found != PLAINTEXT
    assert "secret" not in repr(found)


@pytest.mark.parametrize("jaas", [None, JAAS.replace('username="b"', ""), JAAS.replace(";", ""), "nonsense"])
def test_credentials_that_are_none(jaas: str | None) -> None:
    given = {} if jaas is None else {"listener__name__replication__plain__sasl__jaas__config": jaas}
    _, faults = security(SecurityProtocol.SASL_PLAINTEXT, sasl__mechanism__inter__broker__protocol="PLAIN", **given)
    assert faults
    assert all(fault.startswith(f"{PREFIX}plain.sasl.jaas.config: ") for fault in faults)
    assert not any("secret" in fault for fault in faults)


def test_tls_with_a_truststore_that_is_not_there() -> None:
    _, faults = security(
        SecurityProtocol.SSL, listener__name__replication__ssl__truststore__location="/no/such/file.pem"
    )
    assert len(faults) == 1
    assert faults[0].startswith(f"{PREFIX}ssl.truststore.location: ")


def test_a_mechanism_that_is_none() -> None:
    _, faults = security(SecurityProtocol.SASL_PLAINTEXT)
    assert faults == ["sasl.mechanism.inter.broker.protocol: is not supported"]


@pytest.mark.parametrize(
    ("enabled", "protocol", "rejected"),
    [("PLAIN", "SASL_SSL", False), ("SCRAM-SHA-256", "SASL_SSL", True), ("SCRAM-SHA-256", "SSL", False)],
)
def test_brokers_of_one_kind_take_each_other(enabled: str, protocol: str, rejected: bool) -> None:
    given = {f"{PREFIX}sasl.enabled.mechanisms": enabled, "sasl.mechanism.inter.broker.protocol": "PLAIN"}
    settings, _ = read_network_settings(given, ["REPLICATION"])
    faults = own_mechanism_faults("REPLICATION", SecurityProtocol[protocol], settings)
    assert [(fault.key, fault.entry) for fault in faults] == [
        ("sasl.mechanism.inter.broker.protocol", "PLAIN")
    ] * rejected


def test_the_client_id_is_the_node_id() -> None:
    values = {"controller.socket.timeout.ms": 30_000, "request.timeout.ms": 5_000}
    settings = connection_settings(7, PLAINTEXT, values)
    assert (settings.client_id, settings.request_timeout_ms, settings.connect_timeout_ms) == ("7", 5_000, 10_000)


@pytest.mark.spec("F15")
def test_controllers_are_logged_in_to_by_a_mechanism_of_their_own() -> None:
    given = {
        "controller.listener.names": "ctrl",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "SCRAM-SHA-256",
    }
    settings, _ = read_network_settings(given, ["CTRL", "REPLICATION"])
    faults = {
        name: [fault.key for fault in outbound_security(name, SecurityProtocol.SASL_PLAINTEXT, settings)[1]]
        for name in ("CTRL", "REPLICATION")
    }
    assert faults == {
        "CTRL": ["listener.name.ctrl.scram-sha-256.sasl.jaas.config"],
        "REPLICATION": ["listener.name.replication.plain.sasl.jaas.config"],
    }
