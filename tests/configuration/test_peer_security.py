"""A connection to another broker's listener uses the security of that listener, whatever this broker's own inter-broker
listener is."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from signalbox.client.connection.connection_settings import PLAINTEXT, ConnectionSettings
from signalbox.client.connection.handshake import login_ready
from signalbox.client.connection.node import Address
from signalbox.client.failures import ConnectFailed
from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.configuration.peer_security import PeerSecurity
from signalbox.network.listeners.network_settings import read_network_settings

JAAS = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="b" password="secret" user_b="secret";'
)
GIVEN = {
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.secured.plain.sasl.jaas.config": JAAS,
}


def peers() -> PeerSecurity:
    settings, faults = read_network_settings(GIVEN, ["REPLICATION", "SECURED"])
    assert faults == []
    return PeerSecurity(settings)


def endpoint(name: str, protocol: SecurityProtocol) -> Endpoint:
    return Endpoint(name, "h", 9092, protocol)


@pytest.mark.spec("L12")
def test_each_listener_has_its_own() -> None:
    known = peers()
    secured = known.of(endpoint("SECURED", SecurityProtocol.SASL_PLAINTEXT))
    assert secured.sasl is not None
    assert known.of(endpoint("SECURED", SecurityProtocol.SASL_PLAINTEXT)) is secured
    assert known.of(endpoint("REPLICATION", SecurityProtocol.PLAINTEXT)) == PLAINTEXT


def test_missing_settings_are_logged_once_and_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    known = peers()
    for _ in range(2):
        lacking = known.of(endpoint("REPLICATION", SecurityProtocol.SASL_PLAINTEXT))
        assert "listener.name.replication.plain.sasl.jaas.config" in lacking.unusable
        with pytest.raises(ConnectFailed, match="listener REPLICATION wants SASL_PLAINTEXT"):
            asyncio.run(login_ready(Address("h", 9092), ConnectionSettings(security=lacking)))
    [line] = caplog.messages
    assert "Brokers cannot be reached on listener REPLICATION" in line
    assert "listener.name.replication.plain.sasl.jaas.config" in line
    assert "secret" not in line


def test_another_password_is_used_from_the_next_login_on() -> None:
    known, where = peers(), endpoint("SECURED", SecurityProtocol.SASL_PLAINTEXT)
    missing = endpoint("REPLICATION", SecurityProtocol.SASL_PLAINTEXT)
    secured = known.of(where)
    assert known.of(missing).unusable
    jaas = JAAS.replace("secret", "changed")
    given = {**GIVEN, "listener.name.secured.plain.sasl.jaas.config": jaas}
    given["listener.name.replication.plain.sasl.jaas.config"] = jaas
    settings, _ = read_network_settings(given, ["REPLICATION", "SECURED"])

    def password() -> bytes:
        assert secured.sasl is not None
        return bytes(secured.sasl.begin().first()).rpartition(b"\0")[2]

    known.renew(settings, ())  # the settings of other listeners
    assert password() == b"secret"
    known.renew(settings, {"SECURED"})
    assert known.of(where) is secured
    assert password() == b"changed"
    assert not known.of(missing).unusable, "what was missing is there now"


def test_a_login_that_must_be_made_ready_first_still_is() -> None:
    fetched: list[str] = []

    async def fetch() -> None:
        fetched.append("token")

    known = peers()
    secured = known.of(endpoint("SECURED", SecurityProtocol.SASL_PLAINTEXT))

    async def made_ready() -> None:
        assert secured.sasl is not None
        assert secured.sasl.ready is not None
        await secured.sasl.ready()

    asyncio.run(made_ready())
    key = ("SECURED", SecurityProtocol.SASL_PLAINTEXT)
    known._logins[key] = replace(known._logins[key], ready=fetch)
    asyncio.run(made_ready())
    assert fetched == ["token"]
