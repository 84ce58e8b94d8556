"""Quotas that Kafka's own tool sets: clients are throttled accordingly and get the throttle time; other clients are
not."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.cluster import Cluster
from tests.system.console_tools import tool
from tests.system.wire import Wire
from tests.waiting import until

_Topic = CreateTopicsRequest.CreatableTopic


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    # Short windows allow little at once, so that the effect of a quota shows within a second.
    with Cluster(overrides={"quota.window.num": "2", "controller.quota.window.num": "1"}) as running:
        admin = AdminClient({"bootstrap.servers": running.bootstrap_servers, "log_level": 2})
        admin.create_topics([NewTopic("slow", 1, 3)])["slow"].result(20)
        yield running


def configs(cluster: Cluster, *arguments: str) -> str:
    return tool("kafka-configs", "--bootstrap-server", cluster.bootstrap_servers, *arguments)


def set_quota(cluster: Cluster, client_id: str, quota: str) -> None:
    entity = ("--entity-type", "clients", "--entity-name", client_id)
    configs(cluster, "--alter", "--add-config", quota, *entity)
    name, _, value = quota.partition("=")
    assert f"{name}={float(value)}" in configs(cluster, "--describe", *entity)


def produce_seconds(cluster: Cluster, client_id: str) -> float:
    """The time for 200 kB in small requests."""
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "client.id": client_id, "acks": "all", "log_level": 2}
    producer = Producer({**settings, "batch.size": 5_000, "linger.ms": 0})
    producer.produce("slow", b"first")
    assert producer.flush(20) == 0
    started = time.monotonic()
    for _ in range(40):
        producer.produce("slow", bytes(5_000))
        assert producer.flush(30) == 0
    return time.monotonic() - started


@pytest.mark.spec("D12")
@pytest.mark.slow
def test_a_producer_is_slowed_down_to_its_quota_and_no_other(cluster: Cluster) -> None:
    assert produce_seconds(cluster, "bounded") < 2, "hot, and without a quota"
    set_quota(cluster, "bounded", "producer_byte_rate=50000")
    until(lambda: produce_seconds(cluster, "bounded") > 2.0, "the quota on the leader", timeout_s=60)
    assert produce_seconds(cluster, "another") < 2
    entity = ("--entity-type", "clients", "--entity-name", "bounded")
    configs(cluster, "--alter", "--delete-config", "producer_byte_rate", *entity)
    until(lambda: produce_seconds(cluster, "bounded") < 2, "the quota's end", timeout_s=60)


@pytest.mark.slow
@pytest.mark.spec("F14", "D12")
def test_mutations_are_counted_for_the_client_on_every_broker(cluster: Cluster) -> None:
    set_quota(cluster, "creator", "controller_mutation_rate=2")
    errors: list[Error] = []
    throttles: list[int] = []
    for number, address in enumerate(cluster.bootstrap_servers.split(",")):
        with Wire(address, client_id="creator") as wire:
            asked = CreateTopicsRequest(
                topics=[_Topic(name=f"made-{number}", num_partitions=4, replication_factor=1)], timeout_ms=5_000
            )
            answer: CreateTopicsResponse = wire.ask(ApiKey.CREATE_TOPICS, 7, asked)
            errors += [Error.of(topic.error_code) for topic in answer.topics]
            throttles.append(answer.throttle_time_ms)
    assert errors[0] is Error.NONE
    assert errors[1:] == [Error.THROTTLING_QUOTA_EXCEEDED] * 2
    assert all(0 < throttle <= 1_000 for throttle in throttles)
    with Wire(cluster.bootstrap_servers.split(",")[0], client_id="another") as wire:
        asked = CreateTopicsRequest(topics=[_Topic(name="free", num_partitions=9, replication_factor=1)])
        answer = wire.ask(ApiKey.CREATE_TOPICS, 7, asked)
        assert answer.throttle_time_ms == 0


@pytest.mark.spec("D12")
@pytest.mark.slow
@pytest.mark.spec("D12")
def test_a_connection_that_is_held_back_is_not_read(cluster: Cluster) -> None:
    set_quota(cluster, "reader", "consumer_byte_rate=20000")
    topic = FetchRequest.FetchTopic(
        topic="slow", partitions=[FetchRequest.FetchPartition(partition=0, partition_max_bytes=30_000)]
    )
    leader = next(node for node in cluster.nodes.values() if _leads(node))
    with Wire(str(leader.describe()["listeners"]["CLIENT"]), client_id="reader") as wire:
        request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[topic])
        answer = wire.ask(ApiKey.FETCH, 11, request)
        started = time.monotonic()
        while not answer.throttle_time_ms:
            answer = wire.ask(ApiKey.FETCH, 11, request)
            assert time.monotonic() - started < 60
        assert answer.responses == [], "beyond the quota nothing comes"
        held_at = time.monotonic()
        later = wire.ask(ApiKey.FETCH, 11, request)
        assert time.monotonic() - held_at >= answer.throttle_time_ms / 1000 - 0.05
        assert later.responses[0].partitions[0].records


@pytest.mark.slow
@pytest.mark.spec("D12")
def test_time_is_a_quota_too(cluster: Cluster) -> None:
    """Half a per cent of the thread: five milliseconds for one second."""
    set_quota(cluster, "greedy", "request_percentage=0.5")
    for client_id, is_held in (("greedy", True), ("modest", False)):
        with Wire(cluster.bootstrap_servers.split(",")[0], client_id=client_id) as wire:
            throttles: list[int] = []
            while len(throttles) < 200 and not any(throttles):
                throttles.append(wire.ask(ApiKey.METADATA, 9, MetadataRequest(topics=None)).throttle_time_ms)
            assert any(throttles) is is_held
            assert max(throttles) <= 1_000, "a window at most"
            if is_held:
                held_at = time.monotonic()
                wire.ask(ApiKey.METADATA, 9, MetadataRequest(topics=None))
                assert time.monotonic() - held_at >= throttles[-1] / 1000 - 0.05


def _leads(node: object) -> bool:
    partition = node.components.data.replicas.partition("slow", 0)  # type: ignore[attr-defined]
    return partition is not None and partition.is_leader
