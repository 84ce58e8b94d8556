"""A listener's new certificate is used for new connections, incoming and outgoing; open connections stay."""

from __future__ import annotations

import asyncio
import os
import ssl
from pathlib import Path

import pytest

from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.configuration.peer_security import PeerSecurity
from signalbox.protocol.api_table import ApiKey
from signalbox.security.tls.contexts import client_context
from signalbox.server.listeners.tls_renewal import TlsRenewal
from tests.network.serving import configured, serving
from tests.security.certificates import Authority
from tests.security.tls.handshakes import AUTHORITY, TRUSTING
from tests.transport.loopback import framed

MAP = "listener.security.protocol.map"


def properties(folder: Path) -> dict[str, str]:
    return {
        "listeners": "CLIENT://127.0.0.1:0,REPLICATION://127.0.0.1:0,CONTROL://127.0.0.1:0,OPEN://127.0.0.1:0",
        MAP: "CLIENT:SSL,REPLICATION:SSL,CONTROL:SSL,OPEN:PLAINTEXT",
        "inter.broker.listener.name": "REPLICATION",
        "control.plane.listener.name": "CONTROL",
        "ssl.keystore.location": AUTHORITY.identity("broker").pem_file(folder / "broker.pem"),
        "ssl.truststore.certificates": AUTHORITY.pem,
    }


def dialling(peers: PeerSecurity, listener: str) -> ssl.SSLContext:
    """The TLS context with which this broker would connect to another broker now."""
    tls = peers.of(Endpoint(listener, "localhost", 1, SecurityProtocol.SSL)).tls
    assert tls is not None
    return tls.context


async def serial(port: int) -> tuple[str, asyncio.StreamReader, asyncio.StreamWriter]:
    context = client_context(TRUSTING)
    reader, writer = await asyncio.open_connection("localhost", port, ssl=context)
    return writer.get_extra_info("ssl_object").getpeercert()["serialNumber"], reader, writer


@pytest.mark.spec("L5")
@pytest.mark.parametrize("listener", ["CLIENT", "CONTROL"])
def test_new_connections_get_the_new_certificate_and_open_ones_stay(tmp_path: Path, listener: str) -> None:
    async def main() -> None:
        given = properties(tmp_path)
        async with serving(given) as served:
            peers = PeerSecurity(configured(given)[1])
            dialled_before = dialling(peers, listener), dialling(peers, "REPLICATION")
            renewal = TlsRenewal(served.server, peers)
            first, reader, writer = await serial(served.ports[listener])
            AUTHORITY.identity("broker").pem_file(tmp_path / "broker.pem")
            change, faults = renewal.prepare(listener, given)  # the same location, a new file
            assert faults == []
            assert change is not None
            assert (await serial(served.ports[listener]))[0] == first  # not in use yet
            renewal.apply(change)
            assert (await serial(served.ports[listener]))[0] != first
            untouched = "CONTROL" if listener == "CLIENT" else "CLIENT"
            assert (await serial(served.ports[untouched]))[0] == first
            dialled = await served.dial("OPEN")
            writer.write(dialled.request(ApiKey.METADATA, 1, b"x"))
            assert await reader.readexactly(9) == framed(b"\0\0\0\1x")
            assert dialling(peers, listener) is change.outbound is not dialled_before[0]
            assert dialling(peers, "REPLICATION") is dialled_before[1]

    asyncio.run(main())


def test_faults_are_reported_and_nothing_changes(tmp_path: Path) -> None:
    async def main() -> None:
        given = properties(tmp_path)
        async with serving(given) as served:
            peers = PeerSecurity(configured(given)[1])
            was = dialling(peers, "REPLICATION")
            renewal = TlsRenewal(served.server, peers)
            prefix = "listener.name.replication."
            for changes, key in (
                ({f"{prefix}ssl.truststore.certificates": Authority("other").pem}, "ssl.truststore.location"),
                ({f"{prefix}ssl.keystore.location": "/no/such/file"}, "ssl.keystore.location"),
                ({f"{prefix}ssl.keystore.type": "BKS"}, "ssl.keystore.type"),
                ({f"{prefix}ssl.endpoint.identification.algorithm": "no"}, "ssl.endpoint.identification.algorithm"),
            ):
                change, faults = renewal.prepare("REPLICATION", given | changes)
                assert change is None
                assert [fault.key for fault in faults] == [prefix + key]
            assert dialling(peers, "REPLICATION") is was
            with pytest.raises(KeyError, match="OPEN"):
                renewal.prepare("OPEN", given)
            change, faults = renewal.prepare(
                "REPLICATION",
                given | {f"{prefix}ssl.truststore.certificates": AUTHORITY.pem + Authority("other").pem},
            )
            assert change is not None
            renewal.apply(change)
            assert dialling(peers, "REPLICATION") is not was

    asyncio.run(main())


def test_replaced_files_are_reported_by_their_keys(tmp_path: Path) -> None:
    async def main() -> None:
        given = properties(tmp_path)
        del given["ssl.truststore.certificates"]
        (tmp_path / "ca.pem").write_text(AUTHORITY.pem)
        given["ssl.truststore.location"] = str(tmp_path / "ca.pem")
        async with serving(given) as served:
            renewal = TlsRenewal(served.server, PeerSecurity(configured(given)[1]))
            assert renewal.replaced_files() == []
            os.utime(tmp_path / "broker.pem", (1, 1))
            change, _ = renewal.prepare("CONTROL", given)
            assert change is not None
            renewal.apply(change)
            os.utime(tmp_path / "ca.pem", (1, 1))
            assert renewal.replaced_files() == [
                "listener.name.client.ssl.keystore.location",
                "listener.name.client.ssl.truststore.location",
                "listener.name.replication.ssl.keystore.location",
                "listener.name.replication.ssl.truststore.location",
                "listener.name.control.ssl.truststore.location",
            ]

    asyncio.run(main())
