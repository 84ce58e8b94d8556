from __future__ import annotations

from signalbox.network.listeners.network_settings import read_network_settings

GIVEN = {
    "max.connections": "100",
    "ssl.client.auth": "required",
    "listener.name.client.max.connections": "10",
    "listener.name.client.ssl.keystore.location": "/k.pem",
    "listener.name.client.scram-sha-256.sasl.jaas.config": "X required;",
    "listener.name.client.PLAIN.sasl.jaas.config": "Y required;",
    "plain.sasl.jaas.config": "never read",
    "listener.name.CLIENT.max.connections": "never read",
    "listener.name.client.listeners": "never read",
}


def test_a_listeners_view_overrides_the_global_values() -> None:
    settings, faults = read_network_settings(GIVEN, ["CLIENT", "OTHER"])
    assert not faults
    client, other = settings.listener("CLIENT"), settings.listener("OTHER")
    assert client.number("max.connections") == 10
    assert other.number("max.connections") == 100
    assert client.text("ssl.keystore.location") == "/k.pem"
    assert other.text("ssl.keystore.location") == ""
    assert client.text("ssl.client.auth") == "required"
    assert client.own == {"max.connections", "ssl.keystore.location"}
    assert client.for_mechanism("SCRAM-SHA-256", "sasl.jaas.config") == "X required;"
    assert client.for_mechanism("plain", "sasl.jaas.config") == "Y required;"
    assert other.for_mechanism("PLAIN", "sasl.jaas.config") is None
    assert settings.listener("UNKNOWN").number("max.connections") == 100
    assert client.names("sasl.enabled.mechanisms") == ["GSSAPI"]


def test_faults_name_the_prefixed_key() -> None:
    _, faults = read_network_settings(
        {
            "listener.name.client.max.connections": "many",
            "listener.name.client.plain.connections.max.reauth.ms": "soon",
            "socket.request.max.bytes": "0",
        },
        ["CLIENT"],
    )
    assert {fault.key for fault in faults} == {
        "listener.name.client.max.connections",
        "listener.name.client.plain.connections.max.reauth.ms",
        "socket.request.max.bytes",
    }


def test_rules_over_several_keys() -> None:
    _, faults = read_network_settings(
        {
            "connections.max.idle.ms": "50",
            "max.connections.per.ip": "0",
            "max.connections.per.ip.overrides": "10.0.0.1:x",
        },
        [],
    )
    assert [fault.key for fault in faults] == [
        "connection.failed.authentication.delay.ms",
        "max.connections.per.ip.overrides",
        "max.connections.per.ip",
    ]
    _, faults = read_network_settings(
        {
            "connections.max.idle.ms": "-1",
            "max.connections.per.ip": "0",
            "max.connections.per.ip.overrides": "10.0.0.1:5",
        },
        [],
    )
    assert not faults
