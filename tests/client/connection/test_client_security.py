"""TLS and SASL against a server on real sockets that uses the server side of the security package."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from signalbox.client.client_settings import ClientSettings
from signalbox.client.connection.client_security import sasl_login
from signalbox.client.connection.connection import connect
from signalbox.client.connection.connection_settings import ConnectionSecurity, ConnectionSettings, OutboundTls
from signalbox.client.connection.node import Address, Identity
from signalbox.client.failures import AuthenticationRejected, ConfigRejected, ConnectFailed, Misrouted, PeerBroke
from signalbox.client.inter_broker.replica_channel import open_replica_channel
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeResponse
from signalbox.security.sasl.mechanism import SaslError, SaslMechanism
from signalbox.security.sasl.plain import ListedPasswords, PlainMechanism
from signalbox.security.sasl.scram import NoCredentials, ScramMechanism
from signalbox.security.sasl.scram_messages import ScramCredential, make_credential
from signalbox.transport.data_loop import DataLoop
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster
from tests.security.certificates import Authority

USER, PASSWORD = "broker", "s3cret"


class OneUser(NoCredentials):
    """The credentials of a cluster with one SCRAM user."""

    def scram_credential(self, mechanism: str, user: str) -> ScramCredential | None:
        return make_credential(mechanism, PASSWORD, b"some salt") if user == USER else None


def authenticate_with(broker: LoopbackBroker, mechanism: SaslMechanism) -> None:
    """Make the broker accept SASL; each SaslHandshake begins a new exchange."""
    exchanges: list[Any] = []

    def shake(request: Any, version: int) -> Any:
        known = request.mechanism == mechanism.name
        exchanges[:] = [mechanism.begin()]
        return SaslHandshakeResponse(
            error_code=Error.NONE if known else Error.UNSUPPORTED_SASL_MECHANISM, mechanisms=[mechanism.name]
        )

    def answer(request: Any, version: int) -> Any:
        try:
            return SaslAuthenticateResponse(auth_bytes=exchanges[0].respond(bytes(request.auth_bytes)))
        except SaslError as error:
            return SaslAuthenticateResponse(error_code=Error.SASL_AUTHENTICATION_FAILED, error_message=str(error))

    broker.scripts[ApiKey.SASL_HANDSHAKE] = shake
    broker.scripts[ApiKey.SASL_AUTHENTICATE] = answer


def with_broker(test: Callable[[LoopbackBroker], Awaitable[None]], context: ssl.SSLContext | None = None) -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            await test(await cluster.add_broker(1, context))

    asyncio.run(run())


def settings(**security: Any) -> ConnectionSettings:
    return ConnectionSettings(
        connect_timeout_ms=2_000, request_timeout_ms=2_000, security=ConnectionSecurity(**security)
    )


MECHANISMS: dict[str, Callable[[], SaslMechanism]] = {
    "PLAIN": lambda: PlainMechanism(ListedPasswords({USER: PASSWORD})),
    "SCRAM-SHA-256": lambda: ScramMechanism("SCRAM-SHA-256", OneUser()),
    "SCRAM-SHA-512": lambda: ScramMechanism("SCRAM-SHA-512", OneUser()),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_login_is_followed_by_a_second_comparison_of_identity(name: str) -> None:
    async def test(broker: LoopbackBroker) -> None:
        authenticate_with(broker, MECHANISMS[name]())
        given = settings(sasl=sasl_login(name, USER, PASSWORD))
        connection = await connect(Address(*broker.address), given, Identity("cluster-A", 1))
        assert connection.verified
        asked = [key for key, _, _ in broker.requests]
        assert asked[0] == asked[-1] == ApiKey.API_VERSIONS
        assert [row.node_id for row in broker.seen(ApiKey.API_VERSIONS)] == [1, 1]
        assert set(asked[1:-1]) == {ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
        connection.close()

    with_broker(test)


def test_the_password_is_never_sent_to_the_wrong_node() -> None:
    async def test(broker: LoopbackBroker) -> None:
        authenticate_with(broker, MECHANISMS["PLAIN"]())
        with pytest.raises(Misrouted):
            await connect(
                Address(*broker.address),
                settings(sasl=sasl_login("PLAIN", USER, PASSWORD)),
                Identity("cluster-A", 2),
            )
        assert [key for key, _, _ in broker.requests] == [ApiKey.API_VERSIONS]

    with_broker(test)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_wrong_password_is_not_retriable_and_is_reported(name: str) -> None:
    async def test(broker: LoopbackBroker) -> None:
        authenticate_with(broker, MECHANISMS[name]())
        with pytest.raises(AuthenticationRejected, match="Authentication failed") as rejection:
            await connect(Address(*broker.address), settings(sasl=sasl_login(name, USER, "guess")))
        assert not rejection.value.retriable

    with_broker(test)


def test_a_mechanism_that_the_broker_lacks() -> None:
    async def test(broker: LoopbackBroker) -> None:
        authenticate_with(broker, MECHANISMS["PLAIN"]())
        with pytest.raises(AuthenticationRejected, match="SCRAM-SHA-256 is not among the broker's: PLAIN"):
            await connect(Address(*broker.address), settings(sasl=sasl_login("SCRAM-SHA-256", USER, PASSWORD)))

    with_broker(test)


def test_replica_channels_log_in_too() -> None:
    async def test(broker: LoopbackBroker) -> None:
        authenticate_with(broker, MECHANISMS["SCRAM-SHA-512"]())
        data_loop = DataLoop(asyncio.get_running_loop())
        given = settings(sasl=sasl_login("SCRAM-SHA-512", USER, PASSWORD))
        channel = await open_replica_channel(data_loop, Address(*broker.address), given, Identity("cluster-A", 1))
        assert channel.verified
        channel.close()
        data_loop.close()

    with_broker(test)


def test_tls_with_a_trusted_certificate_and_without(tmp_path: Path) -> None:
    authority = Authority()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(authority.identity("broker").pem_file(tmp_path / "broker.pem"))
    trust = tmp_path / "ca.pem"
    trust.write_text(authority.pem)

    async def test(broker: LoopbackBroker) -> None:
        host, port = broker.address
        properties = {
            "bootstrap.servers": f"{host}:{port}",
            "security.protocol": "SSL",
            "ssl.truststore.location": str(trust),
        }
        given = ClientSettings.from_properties(properties).connections()
        connection = await connect(Address(host, port), given, Identity("cluster-A", 1))
        assert connection.verified
        connection.close()
        with pytest.raises(ConnectFailed) as untrusted:
            await connect(Address(host, port), settings(tls=OutboundTls(ssl.create_default_context())))
        assert untrusted.value.stage == "tls"
        with pytest.raises((PeerBroke, ConnectFailed), match=r"TLS|closed|reset"):
            await connect(Address(host, port), settings())

    with_broker(test, server)


def test_tls_to_a_plaintext_port_fails_at_its_stage() -> None:
    security = ConnectionSecurity(OutboundTls(ssl.create_default_context()))
    hasty = ConnectionSettings(connect_timeout_ms=200, security=security)

    async def test(broker: LoopbackBroker) -> None:
        with pytest.raises(ConnectFailed) as failure:
            await connect(Address(*broker.address), hasty)
        assert failure.value.stage == "tls"

    with_broker(test)


def test_all_faults_of_the_security_keys_are_reported_together() -> None:
    with pytest.raises(ConfigRejected) as rejection:
        ClientSettings.from_properties(
            {
                "bootstrap.servers": "h:9092",
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u";',
                "ssl.truststore.location": "/no/such/file",
            }
        )
    assert "/no/such/file cannot be read" in str(rejection.value)
    assert "is not the login module of SCRAM-SHA-256" in str(rejection.value)


def test_a_login_module_without_a_password_is_rejected() -> None:
    with pytest.raises(ConfigRejected, match="lacks username or password"):
        ClientSettings.from_properties(
            {
                "bootstrap.servers": "h:9092",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u";',
            }
        )


def test_a_login_from_properties() -> None:
    given = ClientSettings.from_properties(
        {
            "bootstrap.servers": "h:9092",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
            'username="u" password="p";',
        }
    )
    assert given.security.tls is None
    assert given.security.sasl is not None
    assert given.security.sasl.begin().first() == b"\0u\0p"
