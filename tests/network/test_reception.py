from __future__ import annotations

import asyncio

from signalbox.common.audit_event import AuditKind
from signalbox.protocol.api_table import ApiKey
from tests.network.serving import serving


def test_an_address_with_too_many_connections() -> None:
    async def main() -> None:
        given = {"listeners": "PLAINTEXT://127.0.0.1:0", "max.connections.per.ip": "2"}
        async with serving(given) as served:
            first, second = await served.dial(), await served.dial()
            await first.ask(ApiKey.METADATA, 1)
            await second.ask(ApiKey.METADATA, 1)
            third = await served.dial()
            assert await third.ended()
            (event,) = await served.trail.until(AuditKind.REFUSED)
            assert event.client_address == "127.0.0.1"
            assert "max.connections.per.ip" in event.reason
            second.close()
            await served.watcher.ended.get()
            fourth = await served.dial()
            assert await fourth.ask(ApiKey.METADATA, 1, b"x") == b"\0\0\0\1x"

    asyncio.run(main())


def test_the_brokers_limit_leaves_newcomers_waiting() -> None:
    async def main() -> None:
        given = {"listeners": "PLAINTEXT://127.0.0.1:0", "max.connections": "1"}
        async with serving(given) as served:
            first = await served.dial()
            await first.ask(ApiKey.METADATA, 1)
            waiting = await served.dial()
            await waiting.send(waiting.request(ApiKey.METADATA, 1, b"x"))
            await first.ask(ApiKey.METADATA, 1)
            assert len(served.sink.seen) == 2
            first.close()
            assert await waiting.answer() == b"\0\0\0\1x"

    asyncio.run(main())


def test_connection_ids_are_never_used_twice() -> None:
    async def main() -> None:
        async with serving() as served:
            clients = [await served.dial() for _ in range(3)]
            for client in clients:
                await client.ask(ApiKey.METADATA, 1)
            ids = [connection.connection_id for connection in served.watcher.open]
            assert [text.rpartition("-")[2] for text in ids] == ["0", "1", "2"]
            assert ids[0].startswith(f"127.0.0.1:{served.ports['PLAINTEXT']}-127.0.0.1:")

    asyncio.run(main())
