"""Leaders and coordinators that move, producers that are fenced: real brokers do it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from signalbox.client import SyncClient
from signalbox.client.admin_apis.group_admin import find_coordinator
from signalbox.protocol.error_table import KafkaError
from signalbox.testing.faults import FenceProducer, MoveCoordinator, MoveLeader
from signalbox.testing.kafka_cluster.cluster_options import ClusterOptions
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster
from signalbox.testing.switchboard import Switchboard

pytestmark = pytest.mark.spec("R7")

GROUP, TRANSACTION = 0, 1


def coordinator(cluster: KafkaCluster, key: str, kind: int = GROUP) -> int:
    async def ask(client: Any) -> int:
        return await find_coordinator(client, key, kind, timeout_ms=60_000)

    return cluster.client.call(ask, cluster.client.admin.client)


def test_a_leader_moves_and_comes_back(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    settings = kafka_cluster.client_config().settings()
    with SyncClient(settings) as client, client.producer() as producer:
        producer.send(kafka_topic, b"before", partition=0).result(60)
        with kafka_cluster.faults(MoveLeader(kafka_topic, 0, to=3)):
            assert kafka_cluster.topics.leaders(kafka_topic) == {0: 3, 1: 2, 2: 3}
            producer.send(kafka_topic, b"meanwhile", partition=0).result(60)
        assert kafka_cluster.topics.leaders(kafka_topic) == {0: 1, 1: 2, 2: 3}
        producer.send(kafka_topic, b"after", partition=0).result(60)
    values = [record.value for record in kafka_cluster.topics.records(kafka_topic)[0]]
    assert values == [b"before", b"meanwhile", b"after"]


def test_any_broker_in_sync_leads_if_none_is_named(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    with kafka_cluster.faults(MoveLeader(kafka_topic, 1)):
        assert kafka_cluster.topics.leaders(kafka_topic)[1] in (1, 3)
    assert kafka_cluster.topics.leaders(kafka_topic)[1] == 2


def test_the_coordinator_of_a_group_moves_and_comes_back(kafka_cluster: KafkaCluster) -> None:
    with kafka_cluster.faults(MoveCoordinator(group="payments")):  # the first one creates the topic
        pass
    before = coordinator(kafka_cluster, "payments")
    other = before % 3 + 1
    with kafka_cluster.faults(MoveCoordinator(group="payments", to=other)):
        assert coordinator(kafka_cluster, "payments") == other
    assert coordinator(kafka_cluster, "payments") == before


def test_the_coordinator_of_transactions_moves_while_one_is_open(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    producer = Producer({**kafka_cluster.client_config().librdkafka(), "transactional.id": "moved"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(kafka_topic, b"once", partition=0)
    before = coordinator(kafka_cluster, "moved", TRANSACTION)
    with kafka_cluster.faults(MoveCoordinator(transactional_id="moved")):
        assert coordinator(kafka_cluster, "moved", TRANSACTION) != before
        producer.commit_transaction(60)
    assert [record.value for record in kafka_cluster.topics.records(kafka_topic)[0]] == [b"once"]


def test_a_fenced_producer_cannot_commit(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    producer = Producer({**kafka_cluster.client_config().librdkafka(), "transactional.id": "fenced", "log_level": 0})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(kafka_topic, b"never", partition=0)
    producer.flush(60)
    kafka_cluster.faults(FenceProducer("fenced"))
    with pytest.raises(KafkaException) as raised:
        producer.commit_transaction(60)
    assert raised.value.args[0].fatal()


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (MoveLeader("nothing", 0), "no partition nothing-0"),
        (MoveCoordinator(group="g", to=9), "."),
    ],
)
def test_what_cannot_be_is_an_error(kafka_cluster: KafkaCluster, fault: Any, error: str) -> None:
    with pytest.raises(Exception, match=error):
        kafka_cluster.faults(fault)
    assert kafka_cluster.topics.leaders("__consumer_offsets")[0] > 0


def test_a_leader_that_cannot_be_elected_leaves_the_replicas_as_they_were() -> None:
    with KafkaCluster(ClusterOptions(topics={"moved": 1})) as cluster:

        def replicas() -> list[int]:
            client = cluster.client
            topics = client.call(client.admin.describe_topics, ["moved"])
            return list(topics["moved"].partitions[0].replica_nodes)

        before = replicas()
        cluster.brokers.stop_broker(before[2])
        with pytest.raises(KafkaError):
            cluster.faults(MoveLeader("moved", 0, to=before[2]))
        assert replicas() == before


@pytest.mark.kafka_cluster(brokers=1)
def test_one_broker_has_no_other_to_lead(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    with pytest.raises(ValueError, match="no other replica in sync than its leader, broker 1"):
        kafka_cluster.faults(MoveLeader(kafka_topic, 0))


def test_a_switchboard_without_brokers_is_named() -> None:
    with pytest.raises(ValueError, match="no address of theirs"):
        asyncio.run(FenceProducer("x").apply(Switchboard()))
