"""A reassignment is as fast as its throttle allows, while clients continue (KIP-73)."""

from __future__ import annotations

import asyncio
import time

import pytest
from confluent_kafka import Producer

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.config_admin import ConfigChange, ConfigResource
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.common.ids import TopicPartition
from signalbox.protocol.config_resource import ConfigResourceType
from signalbox.testing.cluster import Cluster
from tests.waiting import until

TOPIC = "moving"
RATE = 500_000
RECORDS = 300
SIZE = 10_000


@pytest.mark.slow
@pytest.mark.spec("D3")
@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_replica_that_catches_up_takes_as_long_as_the_rate_says(side: str) -> None:
    # The quota allows one second's worth at once: three megabytes take five seconds, minus that burst and the first
    # fetch.
    with Cluster(overrides={"replication.quota.window.num": "2"}) as cluster:
        asyncio.run(_made(cluster))
        settings = {"bootstrap.servers": cluster.bootstrap_servers, "linger.ms": 0, "log_level": 2}
        producer = Producer(settings)
        for _ in range(RECORDS):
            producer.produce(TOPIC, bytes(SIZE))
        assert producer.flush(30) == 0
        seconds = asyncio.run(_moved(cluster, producer, side))
        assert seconds > 2.0


async def _made(cluster: Cluster) -> None:
    async with AdminClient.of(cluster.bootstrap_servers) as admin:
        [result] = (await admin.create_topics([NewTopic(name=TOPIC, assignments={0: [1]})])).values()
        result.raise_for_error()


async def _moved(cluster: Cluster, producer: Producer, side: str) -> float:
    """Seconds until broker 2 is in sync."""
    async with AdminClient.of(cluster.bootstrap_servers) as admin:
        rate = [ConfigChange(f"{side}.replication.throttled.rate", str(RATE))]
        whose = [ConfigChange(f"{side}.replication.throttled.replicas", "0:1" if side == "leader" else "0:2")]
        changes = {
            ConfigResource(ConfigResourceType.BROKER, ""): rate,
            ConfigResource(ConfigResourceType.TOPIC, TOPIC): whose,
        }
        for result in (await admin.alter_configs(changes)).values():
            result.raise_for_error()
        await asyncio.to_thread(_wait_until_applied, cluster, side)
        started = time.monotonic()
        await admin.reassign_partitions({TopicPartition(TOPIC, 0): [1, 2]})
        while time.monotonic() - started < 60:
            if 2 in cluster.nodes[1].components.cache.image.topics[TOPIC].partitions[0].isr:
                return time.monotonic() - started
            producer.produce(TOPIC, b"meanwhile")
            assert producer.flush(10) == 0, "clients are not held back"
            await asyncio.sleep(0.05)
    raise AssertionError("broker 2 never caught up")


def _wait_until_applied(cluster: Cluster, side: str) -> None:
    node = cluster.nodes[1 if side == "leader" else 2]
    until(lambda: getattr(node.components.data.replicas.throttles, side).is_set, "the throttle")
