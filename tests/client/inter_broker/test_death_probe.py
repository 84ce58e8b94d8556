from __future__ import annotations

import asyncio

import pytest

from signalbox.client.inter_broker.death_probe import DeathProbe
from signalbox.common.endpoint import Endpoint, SecurityProtocol
from tests.client.loopback_cluster import LoopbackCluster
from tests.transport.self_connecting import dial_themselves


def at(host: str, port: int) -> Endpoint:
    return Endpoint("CONTROL", host, port, SecurityProtocol.PLAINTEXT)


def test_a_broker_is_dead_only_if_every_address_refuses_connections() -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            alive, dead = await cluster.add_broker(1), await cluster.add_broker(2)
            await dead.stop()
            probe = DeathProbe()
            assert await probe.confirm_dead(2, [at(*dead.address)])
            assert not await probe.confirm_dead(1, [at(*alive.address)])
            assert not await probe.confirm_dead(1, [at(*alive.address), at(*dead.address)])
            assert not await probe.confirm_dead(3, [])
            assert not await probe.confirm_dead(3, [at("no-such-host.invalid", 1)])

    asyncio.run(run())


def test_a_socket_connected_to_itself_counts_as_a_closed_port(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        with monkeypatch.context() as patched:
            port = dial_themselves(patched)
            assert await DeathProbe().confirm_dead(1, [at("127.0.0.1", port)])

    asyncio.run(run())
