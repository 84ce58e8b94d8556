"""Faults of single requests, with real brokers behind."""

from __future__ import annotations

import time
from typing import Any

import pytest
from confluent_kafka import Producer

from signalbox.client import ProducerSettings, SyncClient
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.describe_cluster import DescribeClusterRequest
from signalbox.protocol.messages.metadata import MetadataRequest, MetadataResponse
from signalbox.testing.faults import (
    AnswerWithError,
    CutAfterRequest,
    CutBeforeRequest,
    DelayResponse,
    DropRequest,
    Fault,
    StallResponse,
    SwapAddresses,
    Throttle,
    WrongNode,
)
from signalbox.testing.kafka_cluster.kafka_cluster import ClusterPool, KafkaCluster
from tests.testing.faults.probes import HURRIED, ask, metadata_of, node_at
from tests.waiting import until

pytestmark = pytest.mark.spec("R7")

METADATA = MetadataRequest(topics=[])
CLUSTER = DescribeClusterRequest()


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"api": "Producer"}, "no API 'Producer'"),
        ({"api": "Produce", "first": 0}, "counted from 1"),
        ({"api": "Produce", "times": 0}, "counted from 1"),
    ],
)
def test_what_does_not_exist_is_an_error_at_once(fields: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        StallResponse(**fields)
    with pytest.raises(ValueError, match="no error 'NOT_THERE'"):
        AnswerWithError(api="Produce", error="NOT_THERE")


def test_the_second_request_of_one_api_gets_an_error(kafka_cluster: KafkaCluster) -> None:
    fault = AnswerWithError(api="DescribeCluster", error="CLUSTER_AUTHORIZATION_FAILED", first=2)
    with kafka_cluster.faults(fault):
        first, metadata, second, third = ask(kafka_cluster.advertised(1), CLUSTER, METADATA, CLUSTER, CLUSTER)
    codes = [each.error_code for each in (first, second, third)]
    assert codes == [Error.NONE, Error.CLUSTER_AUTHORIZATION_FAILED, Error.NONE]
    assert isinstance(metadata, MetadataResponse)


def test_every_request_of_one_client_at_one_node(kafka_cluster: KafkaCluster) -> None:
    faults = [
        AnswerWithError(api="DescribeCluster", error="UNKNOWN_SERVER_ERROR", times=None, node=node, client_id=client_id)
        for node, client_id in ((1, "probe"), (2, "other"))
    ]

    def codes(node: int) -> list[int]:
        return [each.error_code for each in ask(kafka_cluster.advertised(node), CLUSTER, CLUSTER)]

    with kafka_cluster.faults(*faults):
        assert codes(1) == [Error.UNKNOWN_SERVER_ERROR] * 2
        assert codes(2) == [Error.NONE] * 2
    assert codes(1) == [Error.NONE] * 2


def test_a_delayed_response_arrives(kafka_cluster: KafkaCluster) -> None:
    with kafka_cluster.faults(DelayResponse(api="Metadata", delay_ms=50)):
        assert isinstance(ask(kafka_cluster.advertised(1), METADATA)[0], MetadataResponse)
    with kafka_cluster.faults(DelayResponse(api="Metadata", delay_ms=100_000)):
        assert isinstance(ask(kafka_cluster.advertised(1), METADATA, settings=HURRIED)[0], Exception)


@pytest.mark.parametrize(
    ("fault", "stored"),
    [
        (CutAfterRequest(api="Produce"), True),
        (CutBeforeRequest(api="Produce"), False),
        (StallResponse(api="Produce"), True),
        (DropRequest(api="Produce"), False),
    ],
)
def test_whether_the_broker_gets_the_request(
    kafka_cluster: KafkaCluster, kafka_topic: str, fault: Fault, stored: bool
) -> None:
    settings = kafka_cluster.client_config().settings(
        request_timeout_ms="2000", retry_backoff_ms="3000", retry_backoff_max_ms="3000"
    )
    timeout = ProducerSettings(delivery_timeout_ms=1_000)
    with SyncClient(settings) as client, client.producer(timeout) as producer, kafka_cluster.faults(fault):
        acknowledged = producer.send(kafka_topic, b"once", partition=0)
        assert acknowledged.exception(60) is not None
    values = [record.value for record in kafka_cluster.topics.records(kafka_topic)[0]]
    assert values == ([b"once"] if stored else [])


def test_an_idempotent_producer_stores_a_record_once(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    fault = CutAfterRequest(api="Produce", times=2)
    settings = kafka_cluster.client_config().settings()
    with SyncClient(settings) as client, client.producer() as producer, kafka_cluster.faults(fault):
        producer.send(kafka_topic, b"once", partition=0).result(60)
    assert [record.value for record in kafka_cluster.topics.records(kafka_topic)[0]] == [b"once"]


@pytest.fixture
def other_topic(kafka_cluster: KafkaCluster, kafka_topic: str) -> str:
    kafka_cluster.topics.create(f"{kafka_topic}-other")
    return f"{kafka_topic}-other"


def test_records_of_one_topic_get_an_error(kafka_cluster: KafkaCluster, kafka_topic: str, other_topic: str) -> None:
    """confluent-kafka sends the records of both topics in one request to broker 1, its leader."""
    results: dict[str, Any] = {}
    config = {**kafka_cluster.client_config().librdkafka(), "linger.ms": 200}
    producer = Producer(config)
    for topic in (kafka_topic, other_topic):
        producer.produce(topic, b"first", partition=0)
    producer.flush(60)
    fault = AnswerWithError(api="Produce", error="TOPIC_AUTHORIZATION_FAILED", topic=kafka_topic, times=None)
    with kafka_cluster.faults(fault):
        for topic in (kafka_topic, other_topic):
            producer.produce(
                topic,
                b"second",
                partition=0,
                on_delivery=lambda error, message: results.update({str(message.topic()): error and str(error.name())}),
            )
        assert producer.flush(60) == 0
    assert results == {kafka_topic: "TOPIC_AUTHORIZATION_FAILED", other_topic: None}
    stored = [len(kafka_cluster.topics.records(topic)[0]) for topic in (kafka_topic, other_topic)]
    assert stored == [1, 2]


def test_metadata_of_all_topics_has_an_error_for_one(
    kafka_cluster: KafkaCluster, kafka_topic: str, other_topic: str
) -> None:
    fault = AnswerWithError(api="Metadata", error="LEADER_NOT_AVAILABLE", topic=kafka_topic, times=None)
    with kafka_cluster.faults(fault):
        topics = {row.name: row for row in metadata_of(kafka_cluster.advertised(2)).topics}
        assert (topics[kafka_topic].error_code, topics[kafka_topic].partitions) == (Error.LEADER_NOT_AVAILABLE, [])
        assert topics[other_topic].error_code == Error.NONE
    assert not any(row.error_code for row in metadata_of(kafka_cluster.advertised(2)).topics)


def test_a_consumer_with_a_fetch_session_gets_an_error_for_one_topic(
    kafka_cluster: KafkaCluster, kafka_topic: str, other_topic: str
) -> None:
    partitions = {TopicPartition(topic, 0): 0 for topic in (kafka_topic, other_topic)}
    settings = kafka_cluster.client_config().settings()
    with SyncClient(settings) as client, client.producer() as producer, client.consumer() as consumer:
        consumer.assign(partitions)

        def received(count: int) -> list[str]:
            topics: list[str] = []
            while len(topics) < count:
                topics += [record.topic for record in consumer.poll(100)]
            return sorted(topics)

        for topic in (kafka_topic, other_topic):
            producer.send(topic, b"first", partition=0).result(60)
        assert received(2) == sorted([kafka_topic, other_topic])
        fault = AnswerWithError(api="Fetch", error="NOT_LEADER_OR_FOLLOWER", topic=kafka_topic, times=None)
        with kafka_cluster.faults(fault):
            producer.send(other_topic, b"answers the request that waits", partition=0).result(60)
            assert received(1) == [other_topic]
            for topic in (kafka_topic, other_topic):
                producer.send(topic, b"second", partition=0).result(60)
            assert received(1) == [other_topic]
        assert received(1) == [kafka_topic]


def test_a_response_with_a_throttle_time(kafka_cluster: KafkaCluster) -> None:
    with kafka_cluster.faults(Throttle(api="Metadata", throttle_ms=70)):
        first, second = ask(kafka_cluster.advertised(1), METADATA, METADATA)
    assert (first.throttle_time_ms, second.throttle_time_ms) == (70, 0)


def test_an_error_can_be_late(kafka_cluster: KafkaCluster) -> None:
    fault = AnswerWithError(api="DescribeCluster", error="UNKNOWN_SERVER_ERROR", delay_ms=80)
    with kafka_cluster.faults(fault):
        began = time.monotonic()
        [response] = ask(kafka_cluster.advertised(1), CLUSTER)
    assert response.error_code == Error.UNKNOWN_SERVER_ERROR
    assert time.monotonic() - began >= 0.08


@pytest.mark.parametrize(
    ("fault", "fields", "text"),
    [
        (StallResponse, {"api": "Heartbeat", "topic": "t"}, "Heartbeat requests have no topics"),
        (Throttle, {"api": "SaslHandshake", "throttle_ms": 5}, "SaslHandshake responses have no throttle time"),
    ],
)
def test_what_an_api_does_not_have_is_named(fault: Any, fields: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        fault(**fields)


@pytest.mark.parametrize("client", ["signalbox", "librdkafka"])
@pytest.mark.parametrize("security", ["SASL_PLAINTEXT", "SASL_SSL", "SSL"])
def test_with_sasl_and_tls(kafka_clusters: ClusterPool, security: str, client: str) -> None:
    cluster = kafka_clusters.get(brokers=1, security=security)
    topic = f"{security}-{client}"
    cluster.topics.create(topic)
    cluster.forget_requests()
    send = {"signalbox": send_by_signalbox, "librdkafka": send_by_librdkafka}[client]
    send(cluster, topic, b"before")
    fault = AnswerWithError(api="Produce", error="NOT_ENOUGH_REPLICAS", topic=topic, times=2)
    with cluster.faults(fault, CutAfterRequest(api="Metadata")):
        send(cluster, topic, b"meanwhile")
        produced = [request for request in cluster.requests() if request.api == ApiKey.PRODUCE]
        assert len(produced) >= 3
    send(cluster, topic, b"after")
    assert [record.value for record in cluster.topics.records(topic)[0]] == [b"before", b"meanwhile", b"after"]


def send_by_signalbox(cluster: KafkaCluster, topic: str, value: bytes) -> None:
    with SyncClient(cluster.client_config().settings()) as client, client.producer() as producer:
        producer.send(topic, value, partition=0).result(60)


def send_by_librdkafka(cluster: KafkaCluster, topic: str, value: bytes) -> None:
    producer = Producer({**cluster.client_config().librdkafka(), "retry.backoff.ms": 10, "log_level": 0})
    producer.produce(topic, value, partition=0)
    assert producer.flush(60) == 0


@pytest.mark.kafka_cluster(brokers=1, security="SSL")
def test_tls_passes_as_it_is_when_no_fault_reads_requests(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    settings = kafka_cluster.client_config().settings()
    with SyncClient(settings) as client, client.producer() as producer:
        producer.send(kafka_topic, b"first", partition=0).result(60)
        line = kafka_cluster.switchboard.line("broker-1")
        assert (line.reads, kafka_cluster.requests()) == (False, [])
        with kafka_cluster.faults(WrongNode(1, is_node=7)):
            assert line.reads
            late = producer.send(kafka_topic, b"late", partition=0)
            until(lambda: any(request.node_id == 1 for request in kafka_cluster.requests()))
            assert not late.done()
        late.result(60)
        assert not line.reads


@pytest.mark.kafka_cluster(brokers=1, security="SSL")
def test_a_topic_whose_id_the_client_had_before_the_fault(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    with SyncClient(kafka_cluster.client_config().settings()) as client, client.producer() as producer:
        producer.send(kafka_topic, b"first", partition=0).result(60)
        error = "TOPIC_AUTHORIZATION_FAILED"
        fault = AnswerWithError(api="Produce", error=error, topic=kafka_topic)
        with kafka_cluster.faults(fault), pytest.raises(KafkaError, match=error):
            producer.send(kafka_topic, b"second", partition=0).result(60)
        with kafka_cluster.faults(AnswerWithError(api="Produce", error=error, topic="not-there")):
            producer.send(kafka_topic, b"third", partition=0).result(60)


@pytest.mark.kafka_cluster(brokers=2, listeners={"EXTERNAL": "SASL_SSL"})
def test_one_listener_alone(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    def sent(listener: str) -> str | None:
        errors: list[Any] = []
        config = kafka_cluster.client_config(listener=listener).librdkafka()
        producer = Producer({**config, "log_level": 0})
        producer.produce(kafka_topic, b"?", partition=0, on_delivery=lambda error, _: errors.append(error))
        producer.flush(60)
        return errors[0] and str(errors[0].name())

    error = "TOPIC_AUTHORIZATION_FAILED"
    fault = AnswerWithError(api="Produce", error=error, times=None, listener="EXTERNAL")
    with kafka_cluster.faults(fault, SwapAddresses(1, 2, listener="EXTERNAL")):
        assert [sent(listener) for listener in ("EXTERNAL", "CLIENT")] == [error, None]
        assert node_at(kafka_cluster, kafka_cluster.advertised(1), (1, 2)) == [1]
        line = kafka_cluster.switchboard.line("broker-1@EXTERNAL")
        assert line.targets == [kafka_cluster.target(2, "EXTERNAL")]
    assert sent("EXTERNAL") is None
    with pytest.raises(ValueError, match="no listener 'INTERNAL'; there are CLIENT, EXTERNAL"):
        kafka_cluster.faults(AnswerWithError(api="Produce", error=error, listener="INTERNAL"))
