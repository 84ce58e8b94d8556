"""A listener's gauges exist as long as the listener."""

from __future__ import annotations

import asyncio

from signalbox.network.listeners.listener_security import ListenerSecurity
from tests.network.serving import configured, serving
from tests.waiting import until_true

ONE = {"listeners": "PLAINTEXT://127.0.0.1:0"}
TWO = {
    "listeners": "PLAINTEXT://127.0.0.1:0,GUEST://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,GUEST:PLAINTEXT",
}


def test_they_come_and_go_with_it() -> None:
    async def main() -> None:
        async with serving(ONE) as served:
            gauges = served.recorder.gauges
            assert gauges["connection-count"]() == 0
            assert gauges["MemoryPoolUsed"]() == 0
            peer = await served.dial()
            await until_true(lambda: gauges["connection-count"]() == 1)
            assert (gauges["connection-creation-total"](), gauges["connection-close-total"]()) == (1, 0)
            peer.close()
            await until_true(lambda: gauges["connection-close-total"]() == 1)
            assert gauges["connection-creation-total"]() == 1
            served.server.add_listeners(*configured(TWO), {"GUEST": ListenerSecurity()})
            assert 0 <= gauges["AcceptorBlockedPercent"]() <= 1
            served.server.add_listeners(*configured(ONE), {})
            await served.server.remove_listeners(0)
            # The test stores gauges by name alone: those of the remaining listener were removed as well.
            assert "AcceptorBlockedPercent" not in gauges
            assert "MemoryPoolUsed" in gauges

    asyncio.run(main())
