from __future__ import annotations

import asyncio
import ssl

import pytest

from signalbox.transport.connect import connect_data_channel
from signalbox.transport.data_loop import DataLoop
from tests.transport.loopback import Owner, framed, listening_socket
from tests.transport.self_connecting import can_be_bound, dial_themselves
from tests.transport.tls.test_tls_session import contexts


def test_a_plain_channel_talks() -> None:
    async def main() -> None:
        loop = DataLoop(asyncio.get_running_loop())

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(framed(await reader.readexactly(9)))
            await reader.read()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        owner = Owner(await connect_data_channel(loop, "localhost", port))
        owner.send(b"hello")
        assert await owner.frames.get() == framed(b"hello")
        owner.channel.close("done")
        server.close()
        loop.close()

    asyncio.run(main())


def test_a_tls_channel_checks_the_host() -> None:
    async def main() -> None:
        loop = DataLoop(asyncio.get_running_loop())
        server_side, client_side = contexts()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(framed(await reader.readexactly(9)))
            await reader.read()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server_side)
        port = server.sockets[0].getsockname()[1]
        owner = Owner(await connect_data_channel(loop, "localhost", port, ssl_context=client_side))
        owner.send(b"hello")
        assert await owner.frames.get() == framed(b"hello")
        owner.channel.close("done")
        untrusting = ssl.create_default_context()
        with pytest.raises(OSError, match="peer's certificate is rejected"):
            await connect_data_channel(loop, "localhost", port, ssl_context=untrusting)
        server.close()
        loop.close()

    asyncio.run(main())


def test_no_server_at_the_address() -> None:
    async def main() -> None:
        loop = DataLoop(asyncio.get_running_loop())
        sock = listening_socket()
        port = sock.getsockname()[1]
        sock.close()
        with pytest.raises(OSError):
            await connect_data_channel(loop, "127.0.0.1", port)
        loop.close()

    asyncio.run(main())


def test_a_connection_to_itself_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        loop = DataLoop(asyncio.get_running_loop())
        with monkeypatch.context() as patched:
            port = dial_themselves(patched)
            with pytest.raises(ConnectionRefusedError, match="socket connected to itself"):
                await connect_data_channel(loop, "127.0.0.1", port)
        assert can_be_bound(port)
        loop.close()

    asyncio.run(main())


def test_a_silent_tls_peer_is_given_up() -> None:
    async def main() -> None:
        loop = DataLoop(asyncio.get_running_loop())
        sock = listening_socket()
        with pytest.raises(TimeoutError):
            await connect_data_channel(
                loop, "127.0.0.1", sock.getsockname()[1], ssl_context=contexts()[1], timeout_ms=50
            )
        sock.close()
        loop.close()

    asyncio.run(main())
