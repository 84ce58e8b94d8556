from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

import pytest

from signalbox.security.tls.contexts import client_context, server_context
from signalbox.security.tls.distinguished_name import distinguished_name
from signalbox.security.tls.settings import TlsSettings
from signalbox.transport.tls.tls_records import NotTls
from signalbox.transport.tls.tls_session import HandshakeThreads, TlsSession
from tests.security.tls.handshakes import AUTHORITY


def contexts(*, client_auth: str = "none") -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """(server, client)"""
    broker, user = AUTHORITY.identity("broker"), AUTHORITY.identity("user")
    server = server_context(
        TlsSettings(
            keystore_key=broker.key_pem(),
            keystore_certificate_chain=broker.certificate_pem,
            truststore_certificates=AUTHORITY.pem,
            client_auth=client_auth,
        )
    )
    client = client_context(
        TlsSettings(
            keystore_key=user.key_pem(),
            keystore_certificate_chain=user.certificate_pem,
            truststore_certificates=AUTHORITY.pem,
        )
    )
    return server, client


async def shake_hands(server: TlsSession, client: TlsSession, early: bytes = b"") -> None:
    """`early` is what the client sends together with the end of its handshake."""
    loop = asyncio.get_running_loop()

    async def step(session: TlsSession) -> None:
        done: asyncio.Future[Exception | None] = loop.create_future()
        session.advance(loop, done.set_result)
        error = await done
        if error is not None:
            raise error

    for _ in range(10):
        for ours, theirs in ((client, server), (server, client)):
            if not ours.established:
                await step(ours)
            if ours is client and client.established and early:
                client.write(early)
                early = b""
            data = ours.outgoing()
            if data:
                theirs.receive(data)
        if server.established and client.established:
            return
    raise AssertionError("no end of the handshake")


def with_sessions(test: Callable[[TlsSession, TlsSession, Executor], object], client_auth: str = "none") -> None:
    async def main() -> None:
        with ThreadPoolExecutor(1) as executor:
            server_side, client_side = contexts(client_auth=client_auth)
            server = TlsSession(server_side, executor, server_side=True)
            client = TlsSession(client_side, executor, server_side=False, server_hostname="localhost")
            result = test(server, client, executor)
            if asyncio.iscoroutine(result):
                await result

    asyncio.run(main())


def test_plaintext_goes_through() -> None:
    async def test(server: TlsSession, client: TlsSession, _: Executor) -> None:
        await shake_hands(server, client)
        client.write(b"secret")
        wire = client.outgoing()
        assert b"secret" not in wire
        server.receive(wire)
        assert server.has_input
        target = memoryview(bytearray(100))
        assert server.read_into(target) == 6
        assert bytes(target[:6]) == b"secret"
        assert server.read_into(target) == 0
        assert server.peer_certificate is None
        client.write(b"")
        assert client.outgoing() == b""

    with_sessions(test)


def test_close_notify_is_distinguished_from_no_data() -> None:
    async def test(server: TlsSession, client: TlsSession, _: Executor) -> None:
        await shake_hands(server, client)
        target = memoryview(bytearray(100))
        client.send_close_notify()
        assert server.read_into(target) == 0
        server.receive(client.outgoing())
        assert server.read_into(target) == -1

    with_sessions(test)


def test_a_client_certificate_is_seen() -> None:
    async def test(server: TlsSession, client: TlsSession, _: Executor) -> None:
        await shake_hands(server, client)
        certificate = server.peer_certificate
        assert certificate is not None
        assert distinguished_name(certificate).startswith("CN=user,")

    with_sessions(test, client_auth="required")


def test_bytes_that_are_not_tls_are_rejected_without_a_thread() -> None:
    async def test(server: TlsSession, _client: TlsSession, executor: Executor) -> None:
        assert isinstance(executor, ThreadPoolExecutor)
        executor.shutdown()  # a step in the thread pool would raise
        calls: list[Exception | None] = []
        server.receive(b"\0\0\0\x14not a TLS record at all")
        server.advance(asyncio.get_running_loop(), calls.append)
        assert isinstance(calls[0], NotTls)
        assert not server.established

    with_sessions(test)


def test_records_that_make_no_sense_are_an_error_of_the_handshake() -> None:
    async def test(server: TlsSession, _client: TlsSession, _: Executor) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Exception | None] = loop.create_future()
        server.receive(bytes.fromhex("1603010004deadbeef"))
        server.advance(loop, done.set_result)
        assert isinstance(await done, ssl.SSLError)
        assert not server.established

    with_sessions(test)


def test_the_handshake_waits_for_a_complete_record() -> None:
    async def test(server: TlsSession, client: TlsSession, executor: Executor) -> None:
        loop = asyncio.get_running_loop()
        hello = await client_hello(client)
        calls: asyncio.Queue[Exception | None] = asyncio.Queue()
        for byte in hello[:-1]:
            server.receive(bytes([byte]))
            server.advance(loop, calls.put_nowait)
        assert isinstance(executor, ThreadPoolExecutor)
        assert executor._work_queue.empty()
        assert calls.empty()
        server.receive(hello[-1:])
        server.advance(loop, calls.put_nowait)
        assert await calls.get() is None
        assert server.outgoing()

    with_sessions(test)


async def client_hello(client: TlsSession) -> bytes:
    loop = asyncio.get_running_loop()
    first: asyncio.Future[Exception | None] = loop.create_future()
    client.advance(loop, first.set_result)
    assert await first is None
    return client.outgoing()


def test_bytes_that_come_while_a_step_runs_start_the_next_one() -> None:
    async def test(server: TlsSession, client: TlsSession, _: Executor) -> None:
        loop = asyncio.get_running_loop()
        hello = await client_hello(client)
        first, rest = hello[5:7], hello[7:]  # two records of one message
        calls: asyncio.Queue[Exception | None] = asyncio.Queue()
        server.receive(hello[:3] + len(first).to_bytes(2) + first)
        server.advance(loop, calls.put_nowait)
        server.receive(hello[:3] + len(rest).to_bytes(2) + rest)
        server.advance(loop, calls.put_nowait)
        assert [await calls.get(), await calls.get()] == [None, None]
        assert server.outgoing()

    with_sessions(test)


def test_bytes_after_the_last_handshake_step_are_kept() -> None:
    async def test(server: TlsSession, client: TlsSession, _: Executor) -> None:
        await shake_hands(server, client, early=b"first words")
        target = memoryview(bytearray(100))
        assert server.read_into(target) == 11

    with_sessions(test)


def test_a_flood_instead_of_a_handshake_is_rejected() -> None:
    async def test(server: TlsSession, _client: TlsSession, _: Executor) -> None:
        calls: list[Exception | None] = []
        server.receive(bytes(2_000_000))
        server.advance(asyncio.get_running_loop(), calls.append)
        assert "without ending the handshake" in str(calls[0])

    with_sessions(test)


def test_a_wrong_host_name_is_rejected_by_the_client() -> None:
    async def test(server: TlsSession, _client: TlsSession, executor: Executor) -> None:
        _, client_side = contexts()
        client = TlsSession(client_side, executor, server_side=False, server_hostname="elsewhere")
        with pytest.raises(ssl.SSLCertVerificationError):
            await shake_hands(server, client)

    with_sessions(test)


@pytest.mark.spec("C1")
def test_a_full_data_plane_does_not_delay_the_control_plane() -> None:
    threads = HandshakeThreads()
    held = threading.Event()
    waiting = [threads.data.submit(held.wait) for _ in range(100)]
    assert threads.control.submit(lambda: threading.current_thread().name).result(10) == "tls-control_0"
    assert not any(step.done() for step in waiting)
    held.set()
    threads.close()


def test_no_thread_before_the_first_handshake() -> None:
    before = threading.active_count()
    threads = HandshakeThreads()
    assert threading.active_count() == before
    threads.close()
    with pytest.raises(RuntimeError):
        threads.data.submit(print)
