"""Brokers that move to another address while their names stay: a client resolves a name whenever it connects."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.client.cluster_client import ClusterClient
from signalbox.protocol.messages.metadata import MetadataRequest
from tests.client.changing_names import set_addresses
from tests.client.crossed_cluster import hurried
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster
from tests.waiting import until_true

pytestmark = pytest.mark.spec("R5")

NO_TOPICS = MetadataRequest(topics=[])


async def move(broker: LoopbackBroker, ip: str) -> None:
    """Ends the connections of the broker, which listens at the same port of another address then."""
    await broker.stop()
    broker.address = (ip, broker.address[1])
    await broker.start()


def test_a_node_is_reached_at_the_new_address_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            seed, node = await cluster.add_broker(1), await cluster.add_broker(2)
            cluster.advertised[2] = ("node2.test", node.address[1])
            set_addresses(monkeypatch, "node2.test", "127.0.0.1")
            async with ClusterClient(hurried("{}:{}".format(*seed.address))) as client:
                await client.request_any(NO_TOPICS)
                await client.request(2, NO_TOPICS)
                set_addresses(monkeypatch, "node2.test", "127.0.0.3")
                await move(node, "127.0.0.3")
                await until_true(lambda: not any(row.connected for row in client.routes() if row.node_id == 2))
                assert (await client.request(2, NO_TOPICS)).cluster_id == "cluster-A"
                assert client.rebootstraps == 0

    asyncio.run(run())


def test_a_rebootstrap_finds_the_new_address_of_the_bootstrap_servers_name(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with LoopbackCluster() as cluster:
            broker = await cluster.add_broker(1)
            set_addresses(monkeypatch, "kafka.test", "127.0.0.1")
            async with ClusterClient(hurried(f"kafka.test:{broker.address[1]}")) as client:
                await client.request_any(NO_TOPICS)
                set_addresses(monkeypatch, "kafka.test", "127.0.0.3")
                await move(broker, "127.0.0.3")
                cluster.advertised[1] = broker.address
                assert (await client.request_any(NO_TOPICS)).cluster_id == "cluster-A"
                assert client.view.nodes[1].address == broker.address
                assert client.rebootstraps >= 1

    asyncio.run(run())
