"""Attacks of unauthenticated clients on TLS listeners (L7), on both planes, with real sockets. After each: no attacker
was accepted, the rejection is counted and reported with listener and address, and earlier clients are still served."""

from __future__ import annotations

import asyncio
import logging
import ssl
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from signalbox.common.audit_event import AuditEvent, AuditKind
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import encode_request_header
from signalbox.security.tls.contexts import client_context
from tests.network.serving import Dialled, Served, serving
from tests.security.certificates import Authority, Identity
from tests.security.tls.handshakes import AUTHORITY, BROKER, TRUSTING, inline
from tests.transport.loopback import framed, until

_HANDSHAKE = 22
PLANES = ["CLIENT", "CONTROL"]
GIVEN = {
    "listeners": "CLIENT://127.0.0.1:0,CONTROL://127.0.0.1:0,OPEN://127.0.0.1:0",
    "listener.security.protocol.map": "CLIENT:SSL,CONTROL:SSL,OPEN:PLAINTEXT",
    "inter.broker.listener.name": "OPEN",
    "control.plane.listener.name": "CONTROL",
    "ssl.keystore.key": BROKER.key_pem("key-secret"),
    "ssl.key.password": "key-secret",
    "ssl.keystore.certificate.chain": BROKER.certificate_pem,
    "ssl.truststore.certificates": AUTHORITY.pem,
}
IN_A_MOMENT = {"signalbox.connection.setup.timeout.ms": "200"}
MUTUAL = {"ssl.client.auth": "required"}
USER = AUTHORITY.identity("user")


class TrustedClient:
    """A client with its own certificate that connected before the attack."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.requests_sent = 0

    async def is_served(self) -> bool:
        self.requests_sent += 1
        body = str(self.requests_sent).encode()
        self._writer.write(framed(encode_request_header(int(ApiKey.METADATA), 1, self.requests_sent, "trusted") + body))
        return await self._reader.readexactly(8 + len(body)) == framed(self.requests_sent.to_bytes(4) + body)


@asynccontextmanager
async def under_attack(listener: str, **given: str) -> AsyncIterator[tuple[Served, TrustedClient]]:
    """A server with a friend on the listener; at the end the friend is still served, and no other client ever was."""
    async with serving(GIVEN | given) as served:
        context = client_context(inline(USER))
        trusted = TrustedClient(*await asyncio.open_connection("localhost", served.ports[listener], ssl=context))
        assert await trusted.is_served()
        yield served, trusted
        assert await trusted.is_served()
        assert len(served.sink.seen) == trusted.requests_sent


async def client_hello() -> bytes:
    """The first flight of a real client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = client_context(TRUSTING).wrap_bio(incoming, outgoing, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def failed(served: Served, listener: str) -> float:
    return served.recorder.counts.get(("failed-authentication-total", listener), 0)


async def rejected(served: Served) -> AuditEvent:
    (event,) = await served.recorder.until(AuditKind.REJECTED)
    return event


@pytest.mark.spec("L7")
@pytest.mark.parametrize("listener", PLANES)
@pytest.mark.parametrize("part", ["nothing", "half a hello", "a whole hello"])
def test_a_handshake_that_stops(listener: str, part: str) -> None:
    async def main() -> None:
        async with under_attack(listener, **IN_A_MOMENT) as (served, _):
            attacker = await served.dial(listener)
            hello = await client_hello()
            await attacker.send({"nothing": b"", "half a hello": hello[: len(hello) // 2]}.get(part, hello))
            assert await attacker.ended()
            event = await rejected(served)
            assert event.reason == "no end of the TLS handshake after 0.2 s (signalbox.connection.setup.timeout.ms)"
            assert (event.listener, event.client_address) == (listener, "127.0.0.1")
            assert failed(served, listener) == 1
            assert served.recorder.counts["Rejections", listener, "setup_timeout"] == 1

    asyncio.run(main())


@pytest.mark.spec("L7")
@pytest.mark.parametrize("listener", PLANES)
def test_a_byte_now_and_then_buys_no_time_and_no_thread(listener: str) -> None:
    async def main() -> None:
        async with under_attack(listener, **IN_A_MOMENT) as (served, _):
            attacker = await served.dial(listener)
            steps = served.loop.threads.data._work_queue, served.loop.threads.control._work_queue

            async def drip() -> None:
                for byte in await client_hello():
                    await attacker.send(bytes([byte]))
                    await asyncio.sleep(0.02)
                    assert all(queue.empty() for queue in steps)

            dripping = asyncio.create_task(drip())
            event = await rejected(served)
            assert "no end of the TLS handshake" in event.reason
            with suppress(ConnectionError):
                await dripping

    asyncio.run(main())


@pytest.mark.spec("L7")
@pytest.mark.parametrize("listener", PLANES)
@pytest.mark.parametrize(
    ("data", "named"),
    [
        (None, "a plaintext Kafka request (ApiVersions)"),
        (b"GET /metrics HTTP/1.1\r\n\r\n", "HTTP"),
        (b"\0" * 20, "bytes that are not TLS (00 00 00 00 00 00 00 00)"),
    ],
)
def test_plaintext_on_a_tls_port(
    listener: str, data: bytes | None, named: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with under_attack(listener) as (served, _):
            for _ in range(3):
                attacker = await served.dial(listener)
                await attacker.send(data or attacker.request(ApiKey.API_VERSIONS, 3))
                assert await attacker.ended()
            await until(lambda: served.recorder.counts["Rejections", listener, "plaintext_on_tls"] == 3)
            served.server.flush_audit()
            assert [event.count for event in served.recorder.of(AuditKind.REJECTED)] == [1, 2]
            assert failed(served, listener) == 3

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    (line,) = caplog.messages  # one line per interval
    assert line == (
        f"Connection rejected (listener={listener}, client address=127.0.0.1, kind=plaintext_on_tls): "
        f"the peer sent {named} where TLS is expected: "
        "check the peer's security.protocol, or the port"
    )


@pytest.mark.spec("L7")
def test_tls_on_a_plaintext_port(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with under_attack("CLIENT") as (served, _):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                await asyncio.open_connection("localhost", served.ports["OPEN"], ssl=client_context(TRUSTING))
            await rejected(served)
            assert served.recorder.counts["Rejections", "OPEN", "tls_on_plaintext"] == 1

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    (line,) = caplog.messages
    assert line.startswith(
        "Connection rejected (listener=OPEN, client address=127.0.0.1, kind=tls_on_plaintext): the peer sent TLS to a"
    )


@pytest.mark.spec("L7")
@pytest.mark.parametrize("listener", PLANES)
@pytest.mark.parametrize(
    ("identity", "reason"),
    [
        (None, "the peer sent no certificate (ssl.client.auth=required)"),
        (AUTHORITY.expired("user"), "certificate has expired"),
        (AUTHORITY.not_yet_valid("user"), "certificate is not yet valid"),
        (Authority("attacker").identity("user"), "unable to get local issuer certificate"),
    ],
)
def test_certificates_that_prove_nothing(
    listener: str, identity: Identity | None, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with under_attack(listener, **MUTUAL) as (served, _):
            context = client_context(TRUSTING if identity is None else inline(identity))
            with suppress(OSError):  # in TLS 1.3 the client gets the alert only after its own handshake
                reader, writer = await asyncio.open_connection("localhost", served.ports[listener], ssl=context)
                writer.write(framed(encode_request_header(int(ApiKey.METADATA), 1, 1, "attacker")))
                assert await reader.read() == b""
                writer.close()
            event = await rejected(served)
            assert reason in event.reason
            assert failed(served, listener) == 1
            assert served.recorder.counts["Rejections", listener, "tls_handshake"] == 1
            assert event.principal == "User:ANONYMOUS"

    with caplog.at_level(logging.DEBUG):
        asyncio.run(main())
    assert reason in caplog.text
    assert "key-secret" not in caplog.text
    assert "PRIVATE KEY" not in caplog.text


@pytest.mark.parametrize("listener", PLANES)
def test_a_handshake_without_end(listener: str) -> None:
    """A megabyte of records, each a piece of a ClientHello."""

    async def main() -> None:
        async with under_attack(listener) as (served, _):
            attacker = await served.dial(listener)
            hello = bytes.fromhex("0101fffc0303") + bytes(100)
            record = bytes.fromhex("160301") + len(hello).to_bytes(2) + hello
            with suppress(ConnectionError):
                for _ in range(11_000):
                    await attacker.send(record)
            assert await attacker.ended()
            assert (await rejected(served)).reason.startswith("the TLS handshake failed: ")

    asyncio.run(main())


@pytest.mark.spec("C1")
def test_a_storm_of_handshakes_does_not_reach_the_control_plane_nor_the_loop() -> None:
    async def main() -> None:
        async with under_attack("CLIENT") as (served, trusted):
            hello = await client_hello()
            names: set[str] = set()
            for listener in PLANES:
                tls = served.server.tls_of(listener)
                assert tls is not None
                tls.context._msg_callback = _note_thread(names)  # type: ignore[attr-defined]
            attackers: list[Dialled] = []
            for _ in range(200):
                attackers.append(await served.dial("CLIENT"))
                await attackers[-1].send(hello)
            assert await trusted.is_served()
            context = client_context(inline(USER))
            other = TrustedClient(*await asyncio.open_connection("localhost", served.ports["CONTROL"], ssl=context))
            trusted.requests_sent += 1
            assert await other.is_served()
            for attacker in attackers:
                assert await asyncio.get_running_loop().sock_recv(attacker.sock, 1)  # the server's handshake messages
                attacker.close()
            assert names == {"tls-data_0", "tls-data_1", "tls-control_0"}

    asyncio.run(main())


def _note_thread(names: set[str]) -> object:
    def note(_connection: object, _direction: object, _version: object, content: int, *_: object) -> None:
        if content == _HANDSHAKE:
            names.add(threading.current_thread().name)

    return note
