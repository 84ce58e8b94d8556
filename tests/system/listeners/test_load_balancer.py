"""L11: a client whose only address is a load balancer's receives each broker's own address on that listener.

The balancer is a line of the switchboard that leads each new connection to the next broker; the listener behind it
advertises an address per broker, as listeners behind a load balancer do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.metadata import MetadataRequest
from tests.system.clusters import BROKERS, RoutedCluster, line_of
from tests.system.conftest import MakeTopic
from tests.system.wire import Wire


@pytest.fixture(scope="module")
def balancer(cluster: RoutedCluster) -> Iterator[str]:
    """`host:port` of a load balancer in front of every broker's ROUTED listener."""
    host, port = cluster.switchboard.add_line("balancer")
    targets = []
    for node_id in BROKERS:
        bound, _, bound_port = str(cluster.brokers[node_id].ready["bound"]["ROUTED"]).rpartition(":")
        targets.append((bound, int(bound_port)))
    cluster.switchboard.rewire("balancer", *targets)
    yield f"{host}:{port}"
    cluster.switchboard.rewire("balancer")


@pytest.mark.spec("L11")
def test_each_broker_behind_it_returns_the_same_addresses(cluster: RoutedCluster, balancer: str) -> None:
    wanted = set(cluster.bootstrap("ROUTED").split(","))
    for _ in BROKERS:
        with Wire(balancer) as wire:
            brokers = wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=[])).brokers
            assert {f"{broker.host}:{broker.port}" for broker in brokers} == wanted
    assert balancer not in wanted


@pytest.mark.spec("L11")
def test_a_client_that_knows_the_balancer_alone_works_with_every_broker(
    cluster: RoutedCluster, balancer: str, make_topic: MakeTopic
) -> None:
    topic = make_topic(3, replicas=1)  # a leader on each broker: the client must reach all three
    lines = [cluster.switchboard.line(line_of(node_id)) for node_id in BROKERS]
    before = [line.accepted for line in lines]
    producer = Producer({"bootstrap.servers": balancer, "acks": "all", "enable.idempotence": True})
    for partition in range(3):
        producer.produce(topic, value=b"through the balancer %d" % partition, partition=partition)
    assert producer.flush(30) == 0
    group = Consumer({"bootstrap.servers": balancer, "group.id": topic, "auto.offset.reset": "earliest"})
    group.subscribe([topic])
    values: set[bytes] = set()
    while len(values) < 3:
        message = group.poll(30)
        assert message is not None
        assert message.error() is None
        values.add(bytes(message.value() or b""))
        group.commit(message=message, asynchronous=False)
    assert values == {b"through the balancer %d" % partition for partition in range(3)}
    committed = group.committed([TopicPartition(topic, partition) for partition in range(3)], 10)
    assert [each.offset for each in committed] == [1, 1, 1]
    group.close()
    # The client used the addresses that ROUTED advertises, every one of them, and not only the balancer.
    assert all(line.accepted > count for line, count in zip(lines, before, strict=True))


@pytest.mark.spec("L11", "F2")
def test_admin_changes_through_it_reach_the_controller(balancer: str) -> None:
    for number in BROKERS:  # each client gets another broker as its bootstrap server
        admin = AdminClient({"bootstrap.servers": balancer})
        name = f"made-through-the-balancer-{number}"
        admin.create_topics([NewTopic(name, 1, replication_factor=3)], operation_timeout=20)[name].result(30)


@pytest.mark.spec("L11", "R4")
def test_a_client_that_proves_identities_works_through_it(cluster: RoutedCluster, balancer: str) -> None:
    """A bootstrap address belongs to no node, so every broker behind the balancer is valid; at its own address each
    node must confirm its id."""

    async def verified() -> dict[int, str]:
        async with ClusterClient(ClientSettings.of(balancer, client_id="balanced")) as client:
            await client.request_any(MetadataRequest(topics=[]))
            for node_id in BROKERS:
                await client.request(node_id, MetadataRequest(topics=[]))
            assert client.rebootstraps == 0
            routes = [(route.node_id, route.connected, route.verified) for route in client.routes()]
            assert routes == [(node_id, True, True) for node_id in BROKERS], "each confirmed the identity it was sent"
            return {node_id: str(node.address) for node_id, node in client.view.nodes.items()}

    assert asyncio.run(verified()) == {node_id: cluster.brokers[node_id].address("ROUTED") for node_id in BROKERS}
