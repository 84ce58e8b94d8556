"""A cluster for tests of clients, with every protocol, in this process and in processes."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from signalbox.client import SyncClient
from signalbox.protocol.api_table import ApiKey
from signalbox.security.acl import (
    AccessControlEntry,
    AclBinding,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from signalbox.testing.faults import Delay, Stall
from signalbox.testing.kafka_cluster.cluster_options import ClusterOptions
from signalbox.testing.kafka_cluster.kafka_cluster import ClusterPool, KafkaCluster
from signalbox.testing.process_cluster import ProcessCluster

pytestmark = pytest.mark.spec("R7")


def produce(cluster: KafkaCluster, topic: str, value: bytes, user: str | None = None) -> object:
    """Produces one record with librdkafka; its error, None if it was acknowledged."""
    errors: list[object] = []
    producer = Producer({**cluster.client_config(user).librdkafka(), "log_level": 0})
    producer.produce(topic, value, on_delivery=lambda error, _: errors.append(error))
    producer.flush(60)
    return errors[0]


def values(cluster: KafkaCluster, topic: str) -> list[bytes | None]:
    return [record.value for records in cluster.topics.records(topic).values() for record in records]


@pytest.mark.parametrize(
    ("security", "mechanism"),
    [
        ("PLAINTEXT", "PLAIN"),
        ("SSL", "PLAIN"),
        ("SASL_PLAINTEXT", "PLAIN"),
        ("SASL_PLAINTEXT", "SCRAM-SHA-256"),
        ("SASL_SSL", "SCRAM-SHA-512"),
    ],
)
def test_every_protocol_with_librdkafka_and_our_client(security: str, mechanism: str) -> None:
    before = set(threading.enumerate())
    with KafkaCluster(ClusterOptions(brokers=1, security=security, mechanism=mechanism, topics={"t": 1})) as cluster:
        assert produce(cluster, "t", b"by librdkafka") is None
        with SyncClient(cluster.client_config().settings()) as client, client.producer() as producer:
            producer.send("t", b"by signalbox").result(60)
        assert values(cluster, "t") == [b"by librdkafka", b"by signalbox"]
        assert bool(cluster.requests()) is not security.endswith("SSL")
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive(), thread


@pytest.mark.kafka_cluster(brokers=1, security="SASL_PLAINTEXT", mechanism="PLAIN")
def test_a_wrong_password_is_rejected(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    errors: list[object] = []
    config = kafka_cluster.client_config().librdkafka() | {"sasl.password": "wrong", "log_level": 0}
    producer = Producer({**config, "message.timeout.ms": 1_500, "error_cb": errors.append})
    producer.produce(kafka_topic, b"not stored")
    producer.flush(60)
    assert any("uthentication" in str(error) for error in errors)
    assert values(kafka_cluster, kafka_topic) == []


@pytest.mark.kafka_cluster(
    brokers=1, security="SASL_PLAINTEXT", users={"alice": "a-secret", "bob": "b-secret"}, authorize=True
)
def test_users_have_the_rights_that_acls_give(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    assert "TOPIC_AUTHORIZATION_FAILED" in str(produce(kafka_cluster, kafka_topic, b"no", "alice"))
    pattern = ResourcePattern(ResourceType.TOPIC, kafka_topic, PatternType.LITERAL)
    entry = AccessControlEntry("User:alice", "*", AclOperation.WRITE, AclPermission.ALLOW)
    client = kafka_cluster.client
    client.call(client.admin.create_acls, [AclBinding(pattern, entry)])
    assert produce(kafka_cluster, kafka_topic, b"yes", "alice") is None
    assert "TOPIC_AUTHORIZATION_FAILED" in str(produce(kafka_cluster, kafka_topic, b"no", "bob"))
    assert values(kafka_cluster, kafka_topic) == [b"yes"]


@pytest.mark.kafka_cluster(brokers=2, processes=True)
def test_brokers_as_processes(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    assert produce(kafka_cluster, kafka_topic, b"one") is None
    kafka_cluster.brokers.stop_broker(2)
    assert kafka_cluster.stopped() == [2]
    brokers = kafka_cluster.brokers
    assert isinstance(brokers, ProcessCluster)
    brokers.pause(1)
    kafka_cluster.heal()
    assert kafka_cluster.stopped() == []
    assert not brokers.brokers[1].stopped_by_signal
    assert values(kafka_cluster, kafka_topic) == [b"one"]
    assert set(kafka_cluster.broker_logs()) == {"broker 1", "broker 2"}


@pytest.mark.kafka_cluster(brokers=1)
def test_requests_are_recorded_by_client(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    with SyncClient(kafka_cluster.client_config().settings(client_id="mine")) as client, client.producer() as producer:
        producer.send(kafka_topic, b"x").result(60)
    seen = kafka_cluster.requests("mine")
    assert {each.api for each in seen} >= {ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.PRODUCE}
    assert {each.node_id for each in seen if each.cluster_id == kafka_cluster.cluster_id} == {1}
    assert kafka_cluster.requests("other") == []
    kafka_cluster.forget_requests()
    assert kafka_cluster.requests() == []


@pytest.mark.kafka_cluster(brokers=1)
def test_no_fault_concerns_the_kit(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    with kafka_cluster.faults(Stall(1)):
        assert kafka_cluster.topics.records(kafka_topic) == {0: []}
        assert ("applied faults", "Stall(node=1)") in kafka_cluster.describe_state()
    assert dict(kafka_cluster.describe_state()).get("applied faults") is None


def test_a_start_that_fails_leaves_nothing() -> None:
    before = set(threading.enumerate())
    cluster = KafkaCluster(ClusterOptions(brokers=2, overrides={"num.partitions": "many"}))
    with pytest.raises(ValueError, match="'many' is not a whole number"):
        cluster.start()
    cluster.stop()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive(), thread


def test_a_pool_has_one_cluster_for_equal_options(kafka_cluster_factory: Callable[..., KafkaCluster]) -> None:
    with ClusterPool() as pool:
        one = pool.get(brokers=1, overrides={"num.partitions": "2", "log.retention.hours": "1"})
        same = pool.get(brokers=1, overrides={"log.retention.hours": "1", "num.partitions": "2"})
        other = pool.get(brokers=1)
        assert one is same
        assert one is not other
        with one.faults(Delay(1, 1)):
            assert other.describe_state() == []
