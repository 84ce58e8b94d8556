"""The certificate of the peer that we connect to must be valid for its host (L7). Connections on asyncio and in the
data loop fail with the same error, which names the host and the listener."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from signalbox.client.connection.connection import connect
from signalbox.client.connection.connection_settings import ConnectionSecurity, ConnectionSettings, OutboundTls
from signalbox.client.connection.node import Address, Identity
from signalbox.client.failures import ConnectFailed
from signalbox.client.inter_broker.replica_channel import open_replica_channel
from signalbox.security.tls.contexts import client_context, server_context
from signalbox.security.tls.settings import TlsSettings
from signalbox.transport.data_loop import DataLoop
from tests.client.loopback_cluster import LoopbackCluster
from tests.security.certificates import Authority
from tests.security.certificates import Identity as Certified
from tests.security.tls.handshakes import AUTHORITY, BROKER, TRUSTING, inline

Dial = Callable[[Address, ConnectionSettings], Awaitable[object]]


async def on_asyncio(address: Address, settings: ConnectionSettings) -> None:
    (await connect(address, settings, Identity("cluster-A", 1))).close()


async def in_the_data_loop(address: Address, settings: ConnectionSettings) -> None:
    loop = DataLoop(asyncio.get_running_loop())
    try:
        (await open_replica_channel(loop, address, settings, Identity("cluster-A", 1))).close()
    finally:
        loop.close()


def dialled(dial: Dial, server: TlsSettings | None, client: TlsSettings = TRUSTING, host: str = "localhost") -> str:
    """The result as text: the failure, or "connected"."""

    async def run() -> str:
        tls = OutboundTls(client_context(client))
        settings = ConnectionSettings(
            connect_timeout_ms=2_000, security=ConnectionSecurity(tls, listener_name="REPLICATION")
        )
        async with LoopbackCluster() as cluster:
            broker = await cluster.add_broker(1, None if server is None else server_context(server))
            try:
                await dial(Address(host, broker.address[1]), settings)
            except ConnectFailed as failure:
                return f"{failure.stage}: {failure}"
            return "connected"

    return asyncio.run(run())


both = pytest.mark.parametrize("dial", [on_asyncio, in_the_data_loop])


@both
@pytest.mark.spec("L7")
@pytest.mark.parametrize(
    ("identity", "why"),
    [
        (
            AUTHORITY.identity("broker", hosts=["elsewhere"]),
            "Hostname mismatch, certificate is not valid for 'localhost' (ssl.endpoint.identification.algorithm)",
        ),
        (AUTHORITY.expired("broker"), "certificate has expired (ssl.keystore.* of the peer)"),
        (AUTHORITY.not_yet_valid("broker"), "certificate is not yet valid (ssl.keystore.* of the peer)"),
        (Authority("unknown-ca").identity("broker"), "unable to get local issuer certificate (ssl.truststore.*)"),
    ],
)
def test_a_certificate_that_is_not_the_peers(dial: Dial, identity: Certified, why: str) -> None:
    problem = dialled(dial, inline(identity))
    assert problem.startswith("tls: could not connect to localhost:")
    assert "(tls): localhost on listener REPLICATION: the TLS handshake failed: the peer's certificate is" in problem
    assert problem.endswith(why)


@both
def test_an_address_that_the_certificate_lacks(dial: Dial) -> None:
    named = AUTHORITY.identity("broker", hosts=["localhost"])
    assert "IP address mismatch, certificate is not valid for '127.0.0.1'" in dialled(
        dial, inline(named), host="127.0.0.1"
    )
    assert dialled(dial, inline(BROKER), host="127.0.0.1") == "connected"


@both
def test_no_algorithm_no_check_of_the_name(dial: Dial) -> None:
    elsewhere = inline(AUTHORITY.identity("broker", hosts=["elsewhere"]))
    unchecked = TlsSettings(truststore_certificates=AUTHORITY.pem, endpoint_identification_algorithm="")
    assert dialled(dial, elsewhere, unchecked) == "connected"


@both
def test_a_peer_that_hangs_up_in_the_middle(dial: Dial) -> None:
    old = TlsSettings(truststore_certificates=AUTHORITY.pem, enabled_protocols=("TLSv1.2",))
    assert dialled(dial, inline(enabled_protocols=("TLSv1.3",)), old).endswith(
        "localhost on listener REPLICATION: the peer ended the connection during the TLS handshake: "
        "perhaps its port is without TLS"
    )
