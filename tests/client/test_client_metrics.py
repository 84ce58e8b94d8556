"""The metrics of clients, producers and consumers, against Signalbox brokers in this process and a scripted cluster."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.offset_admin import EARLIEST
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.client_metrics import ConnectionCounts, Measure, Traffic
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.consumer import Consumer, ConsumerSettings
from signalbox.client.group_consumer.group_consumer import GroupConsumer
from signalbox.client.producer import Producer
from signalbox.common.ids import TopicPartition
from signalbox.testing.cluster import Cluster
from tests.waiting import settle

PAGE = Path(__file__).parents[2] / "docs" / "client.md"
FETCH = ConsumerSettings(auto_offset_reset="earliest", fetch_max_wait_ms=50)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """With one topic, `counted`."""

    async def create_topic(bootstrap_servers: str) -> None:
        async with ClusterClient(ClientSettings.of(bootstrap_servers)) as client:
            await AdminClient(client).create_topics([NewTopic(name="counted", num_partitions=1)])

    with Cluster(brokers=1) as made:
        asyncio.run(create_topic(made.bootstrap_servers))
        yield made


def on_the_page(kind: str) -> set[str]:
    """The names in the row of docs/client.md."""
    (row,) = re.findall(rf"^\| `{kind}`.*?\| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    return set(re.findall(r"`([a-z-]+)`", row))


@pytest.mark.spec("R10")
def test_every_object_counts_what_it_does(cluster: Cluster) -> None:
    async def run() -> None:
        async with ClusterClient(ClientSettings.of(cluster.bootstrap_servers)) as client:
            async with Producer(client) as producer:
                for _ in range(10):
                    await producer.send("counted", bytes(100))
                await producer.flush()
                sent = producer.metrics()
                assert (sent["record-send-total"], sent["record-error-total"]) == (10, 0)
                assert sent["batch-size-max"] >= sent["batch-size-avg"] > 100
                assert sent["request-latency-max"] > 0
                assert sent["buffer-available-bytes"] == sent["buffer-total-bytes"]
            consumer = Consumer(client, FETCH)
            partition = TopicPartition("counted", 0)
            await consumer.assign({partition: EARLIEST})
            assert len(await consumer.poll(30_000, max_records=4)) == 4
            read = consumer.metrics()
            assert (read["records-consumed-total"], read["records-lag-max"]) == (4, 6)
            assert read["bytes-consumed-total"] > 1_000
            await consumer.close()
            connections = client.metrics()
            assert connections["connection-count"] == connections["connection-creation-total"] > 0
            assert connections["response-total"] > 3
            assert connections["outgoing-byte-total"] > 1_000
            client.metadata_updater.pool.drop_all("all connections end")
            await settle()
            later = client.metrics()
            assert later["connection-count"] == 0
            assert later["request-total"] >= connections["request-total"]
            assert on_the_page("ClusterClient") == connections.keys()
            assert on_the_page("Producer") == sent.keys()
            assert on_the_page("Consumer") == read.keys()

    asyncio.run(run())


@pytest.mark.spec("R10")
def test_a_member_counts_its_rebalances_and_commits(cluster: Cluster) -> None:
    async def run() -> None:
        async with GroupConsumer.of(cluster.bootstrap_servers, "counting", fetch=FETCH) as consumer:
            fresh = consumer.metrics()
            assert (fresh["last-rebalance-seconds-ago"], fresh["rebalance-total"]) == (-1, 0)
            consumer.subscribe(["counted"])
            while not consumer.assignment:
                await consumer.poll()
            await consumer.commit({TopicPartition("counted", 0): 3})
            counted = consumer.metrics()
            assert (counted["rebalance-total"], counted["sync-total"], counted["commit-total"]) == (1, 1, 1)
            assert counted["join-total"] == 2, "the first one gets the member id"
            assert counted["last-rebalance-seconds-ago"] >= 0
            assert on_the_page("Consumer") | on_the_page("GroupConsumer") - {"Consumer"} == counted.keys()

    asyncio.run(run())


def test_measures_are_merged() -> None:
    one, other = Traffic(), Traffic()
    one.latency_ms.record(4)
    other.latency_ms.record(10)
    other.requests, other.incoming_bytes = 2, 30
    one.merge(other)
    assert one.as_metrics() == {
        "request-total": 2,
        "response-total": 0,
        "outgoing-byte-total": 0,
        "incoming-byte-total": 30,
        "request-latency-avg": 7,
        "request-latency-max": 10,
    }
    assert Measure().as_metrics("x") == {"x-avg": 0, "x-max": 0}
    assert ConnectionCounts(created=3, closed=1).as_metrics()["connection-count"] == 2
