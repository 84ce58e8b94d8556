from __future__ import annotations

import asyncio

import pytest

from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.inter_broker.peer_channels import DeathProbe, PeerChannels
from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.common.metrics import NullMetrics
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster
from tests.transport.self_connecting import dial_themselves


def endpoint(broker: LoopbackBroker) -> Endpoint:
    return Endpoint("CONTROL", *broker.address, SecurityProtocol.PLAINTEXT)


def test_each_broker_has_its_own_channel_and_a_new_address_a_new_one() -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster, LoopbackCluster() as later:
            first, second = await cluster.add_broker(1), await cluster.add_broker(2)
            moved = await later.add_broker(2)
            for broker in (first, second, moved):
                broker.scripts[ApiKey.UPDATE_METADATA] = lambda request, version: UpdateMetadataResponse()
            peers = PeerChannels("cluster-A", ConnectionSettings(), NullMetrics())
            peers.add_broker(1, endpoint(first))
            peers.add_broker(2, endpoint(second))
            await asyncio.gather(*(peers.send(broker_id, UpdateMetadataRequest()) for broker_id in (1, 2)))
            peers.add_broker(2, endpoint(second))
            await peers.send(2, UpdateMetadataRequest())
            assert second.connections == 1
            peers.add_broker(2, endpoint(moved))
            await peers.send(2, UpdateMetadataRequest())
            assert len(moved.seen(ApiKey.UPDATE_METADATA)) == 1
            assert peers.broker_ids == {1, 2}
            await peers.close()
            assert peers.broker_ids == set()

    asyncio.run(run())


def test_requests_in_flight_to_a_removed_broker_are_cancelled() -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            broker = await cluster.add_broker(1)

            async def silent(request: object, version: int) -> None:
                await asyncio.Event().wait()

            broker.scripts[ApiKey.UPDATE_METADATA] = silent
            peers = PeerChannels("cluster-A", ConnectionSettings(), NullMetrics())
            peers.add_broker(1, endpoint(broker))
            waiting = peers.send(1, UpdateMetadataRequest())
            peers.remove_broker(1)
            with pytest.raises(asyncio.CancelledError):
                await waiting
            with pytest.raises(asyncio.CancelledError):
                await peers.send(1, UpdateMetadataRequest())
            peers.remove_broker(1)
            await peers.close()

    asyncio.run(run())


def test_closing_beside_a_channel_that_has_just_closed_ends() -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            broker = await cluster.add_broker(1)
            peers = PeerChannels("cluster-A", ConnectionSettings(), NullMetrics())
            peers.add_broker(1, endpoint(broker))
            peers.remove_broker(1)
            [closing] = peers._closing
            while not closing.done():  # noqa: ASYNC110 - an event would be set a step later
                await asyncio.sleep(0)
            assert peers._closing == {closing}, "its callback has not run yet"
            await peers.close()
            assert not peers._closing

    asyncio.run(run())


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
