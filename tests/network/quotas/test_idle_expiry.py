from __future__ import annotations

import asyncio

from signalbox.common.audit_event import AuditKind
from signalbox.network.quotas.idle_expiry import ExpiryLimits, expiry_reason
from signalbox.protocol.api_table import ApiKey
from tests.network.serving import EchoSink, serving

LIMITS = ExpiryLimits(idle=10, stall=5, setup=3)

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_which_connections_expire() -> None:
    async def main() -> None:
        async with serving(sink=EchoSink(lambda _: True)) as served:
            client = await served.dial()
            await client.send(client.request(ApiKey.METADATA, 1))
            request = await served.sink.held.get()
            connection = request.connection
            channel = connection.channel
            now = channel.active_at
            assert expiry_reason(connection, now + 11, LIMITS) is None  # a request is in flight
            request.respond([b"answer"])
            assert expiry_reason(connection, now + 9, LIMITS) is None
            assert "connections.max.idle.ms" in str(expiry_reason(connection, now + 11, LIMITS))
            assert expiry_reason(connection, now + 11, ExpiryLimits(idle=None, stall=5, setup=3)) is None
            channel.stalled_since = now
            assert "signalbox.connection.write.stall.timeout.ms" in str(expiry_reason(connection, now + 6, LIMITS))
            channel.stalled_since = None
            connection.established = False
            assert "signalbox.connection.setup.timeout.ms" in str(
                expiry_reason(connection, connection.opened_at + 4, LIMITS)
            )
            await client.answer()

    asyncio.run(main())


def test_an_idle_connection_is_killed_and_counted() -> None:
    async def main() -> None:
        given = {"listeners": "PLAINTEXT://127.0.0.1:0", "connections.max.idle.ms": "200"}
        async with serving(given) as served:
            client = await served.dial()
            await client.ask(ApiKey.METADATA, 1)
            assert await client.ended()
            (event,) = await served.recorder.until(AuditKind.CONNECTION_CLOSE)
            assert "idle" in event.reason
            assert served.recorder.gauges["TimedOutConnectionsdata"]() == 1

    asyncio.run(main())


def test_a_peer_that_does_not_read_is_killed() -> None:
    async def main() -> None:
        given = {"listeners": "PLAINTEXT://127.0.0.1:0", "signalbox.connection.write.stall.timeout.ms": "100"}
        async with serving(given, sink=EchoSink(lambda _: True)) as served:
            client = await served.dial()
            await client.send(client.request(ApiKey.FETCH, 4))
            (await served.sink.held.get()).respond([bytes(20_000_000)])
            (event,) = await served.recorder.until(AuditKind.CONNECTION_CLOSE)
            assert "accepted no bytes" in event.reason

    asyncio.run(main())


def test_one_byte_is_not_enough_to_stay_for_ever() -> None:
    async def main() -> None:
        given = {
            "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
            "security.inter.broker.protocol": "SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{PLAIN} required user_a=b;",
            "signalbox.connection.setup.timeout.ms": "100",
        }
        async with serving(given) as served:
            client = await served.dial("SASL_PLAINTEXT")
            await client.send(b"\0")
            assert await client.ended()
            assert served.recorder.gauges["TimedOutConnectionsdata"]() == 1
            assert served.recorder.of(AuditKind.CONNECTION_OPEN) == []
            (event,) = served.recorder.of(AuditKind.REJECTED)
            assert "not authenticated after 0.1 s (signalbox.connection.setup.timeout.ms)" in event.reason
            assert served.recorder.counts["failed-authentication-total", "SASL_PLAINTEXT"] == 1

    asyncio.run(main())
