from __future__ import annotations

import asyncio

import pytest

from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.inter_broker.peer_channels import PeerChannels
from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.common.metrics import NullMetrics
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster


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
                await asyncio.sleep(60)

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
