from __future__ import annotations

import asyncio

from signalbox.common.audit_event import AuditKind
from signalbox.protocol.api_table import ApiKey
from tests.network.serving import serving

GIVEN = {
    "listeners": "CLIENT://127.0.0.1:0,CONTROL://127.0.0.1:0",
    "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROL:PLAINTEXT",
    "inter.broker.listener.name": "CLIENT",
    "control.plane.listener.name": "CONTROL",
    "listener.name.control.max.connections": "2",
}


def test_connections_beyond_the_listeners_limit_are_closed_and_noted() -> None:
    async def main() -> None:
        async with serving(GIVEN) as served:
            first, second = await served.dial("CONTROL"), await served.dial("CONTROL")
            await first.ask(ApiKey.UPDATE_METADATA, 1)
            await second.ask(ApiKey.UPDATE_METADATA, 1)
            third = await served.dial("CONTROL")
            assert await third.ended()
            (event,) = await served.trail.until(AuditKind.REFUSED)
            assert "max.connections" in event.reason
            first.close()
            await served.watcher.ended.get()
            fourth = await served.dial("CONTROL")
            assert await fourth.ask(ApiKey.UPDATE_METADATA, 1, b"x") == b"\0\0\0\1x"

    asyncio.run(main())


def test_control_connections_live_outside_the_data_loop() -> None:
    async def main() -> None:
        async with serving(GIVEN) as served:
            turns = served.loop.turns
            client = await served.dial("CONTROL")
            for _ in range(5):
                await client.ask(ApiKey.UPDATE_METADATA, 1)
            assert served.loop.turns == turns

    asyncio.run(main())
