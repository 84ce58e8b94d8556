from __future__ import annotations

import asyncio

import pytest

from signalbox.client.connection.connection import connect
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.node import Address
from signalbox.client.connection.stream_opener import StreamOpener, resolve
from signalbox.client.failures import ConnectFailed, ConnectionLost
from tests.doctor.hostile import full_backlog
from tests.transport.self_connecting import can_be_bound, dial_themselves


def test_literals_need_no_name_server_and_names_are_asked_for() -> None:
    assert asyncio.run(resolve(Address("127.0.0.1", 1))) == ["127.0.0.1"]
    assert asyncio.run(resolve(Address("::1", 1))) == ["::1"]
    assert "127.0.0.1" in asyncio.run(resolve(Address("localhost", 1)))
    with pytest.raises(ConnectFailed, match="cannot be resolved"):
        asyncio.run(resolve(Address("no-such-host.invalid", 1)))
    with pytest.raises(ConnectFailed, match="is no host name"):
        asyncio.run(resolve(Address("x" * 64, 1)))


def test_every_address_is_tried_until_one_answers() -> None:
    async def run() -> None:
        server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        address = Address("broker.example", server.sockets[0].getsockname()[1])
        opener = StreamOpener(address, ConnectionSettings())
        stream = await opener.dial(["127.0.0.2", "127.0.0.1"])
        assert opener.stage == "api-versions"
        stream.fail(ConnectionLost(address, "the test is over"))
        server.close()
        await asyncio.sleep(0)
        with pytest.raises(ConnectFailed, match=r"\(tcp\): 127\.0\.0\.3"):
            await StreamOpener(address, ConnectionSettings()).dial(["127.0.0.2", "127.0.0.3"])
        with pytest.raises(ConnectFailed, match="no address"):
            await StreamOpener(address, ConnectionSettings()).dial([])

    asyncio.run(run())


def test_a_connection_to_itself_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        with monkeypatch.context() as patched:
            port = dial_themselves(patched)
            with pytest.raises(ConnectFailed, match=r"\(tcp\): .*socket connected to itself"):
                await StreamOpener(Address("127.0.0.1", port), ConnectionSettings()).dial(["127.0.0.1"])
        assert can_be_bound(port)

    asyncio.run(run())


@pytest.mark.parametrize("port", [-1, 65_536, 70_000])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_number_that_is_no_port_is_a_failed_connect(host: str, port: int) -> None:
    with pytest.raises(ConnectFailed, match=r"\(resolve\): .* is no port"):
        asyncio.run(connect(Address(host, port), ConnectionSettings()))


def test_an_address_that_drops_packets_does_not_hide_the_next_one() -> None:
    async def run() -> None:
        listening, queued = full_backlog()
        dropping = listening.getsockname()
        server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.2", dropping[1])
        try:
            opener = StreamOpener(Address("broker.example", dropping[1]), ConnectionSettings(connect_timeout_ms=150))
            stream = await opener.dial(["127.0.0.1", "127.0.0.1", "127.0.0.2"])
            stream.fail(ConnectionLost(stream.address, "the test is over"))
            with pytest.raises(ConnectFailed, match=r"\(tcp\): 127\.0\.0\.1: no answer within \d+ ms"):
                await opener.dial(["127.0.0.1"])
        finally:
            server.close()
            for sock in (listening, *queued):
                sock.close()

    asyncio.run(run())
