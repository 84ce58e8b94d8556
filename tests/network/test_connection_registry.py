from __future__ import annotations

import asyncio

import pytest

from signalbox.common.audit_event import AuditKind
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import encode_request_header
from signalbox.security.principal import DefaultPrincipalBuilder
from signalbox.security.principal_mapping import parse_principal_mapping
from signalbox.security.tls.contexts import client_context
from tests.network.serving import serving
from tests.security.tls.handshakes import AUTHORITY, BROKER, inline
from tests.transport.loopback import framed


def test_an_address_with_too_many_connections() -> None:
    async def main() -> None:
        given = {"listeners": "PLAINTEXT://127.0.0.1:0", "max.connections.per.ip": "2"}
        async with serving(given) as served:
            first, second = await served.dial(), await served.dial()
            await first.ask(ApiKey.METADATA, 1)
            await second.ask(ApiKey.METADATA, 1)
            third = await served.dial()
            assert await third.ended()
            (event,) = await served.recorder.until(AuditKind.REJECTED)
            assert event.client_address == "127.0.0.1"
            assert "max.connections.per.ip" in event.reason
            second.close()
            await served.watcher.ended.get()
            fourth = await served.dial()
            assert await fourth.ask(ApiKey.METADATA, 1, b"x") == b"\0\0\0\1x"

    asyncio.run(main())


def test_beyond_the_brokers_limit_new_connections_wait() -> None:
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


@pytest.mark.spec("L7")
def test_a_certificate_that_no_rule_is_for_does_not_come_in() -> None:
    async def main() -> None:
        given = {
            "listeners": "SSL://127.0.0.1:0",
            "security.inter.broker.protocol": "SSL",
            "ssl.client.auth": "required",
            "ssl.keystore.key": BROKER.key_pem(),
            "ssl.keystore.certificate.chain": BROKER.certificate_pem,
            "ssl.truststore.certificates": AUTHORITY.pem,
        }
        rules = {"SSL": parse_principal_mapping("RULE:CN=(ann|bob),.*/$1/U")}
        async with serving(given, principals=DefaultPrincipalBuilder(rules)) as served:
            for name in ("bob", "eve"):
                context = client_context(inline(AUTHORITY.identity(name)))
                reader, writer = await asyncio.open_connection("localhost", served.ports["SSL"], ssl=context)
                writer.write(framed(encode_request_header(int(ApiKey.METADATA), 1, 7, "raw")))
                if name == "bob":
                    assert await reader.readexactly(8)
                    assert str(served.sink.seen[0].context.principal) == "User:BOB"
                else:
                    assert await reader.read() == b""
                writer.close()
            (event,) = served.recorder.of(AuditKind.DENIED)
            assert "no rule of ssl.principal.mapping.rules is for CN=eve," in event.reason
            assert len(served.sink.seen) == 1
            assert len(served.watcher.open) == 1
            assert await served.watcher.failed.get(), "the one that did not come in"
            assert served.recorder.counts["failed-authentication-total", "SSL"] == 1
            assert served.recorder.counts["successful-authentication-total", "SSL"] == 1

    asyncio.run(main())
