"""Faults of single requests, with real brokers behind."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.client import ProducerSettings, SyncClient
from signalbox.protocol.error_table import Error
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
)
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster
from tests.testing.faults.probes import HURRIED, ask

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


@pytest.mark.kafka_cluster(brokers=1, security="SSL")
def test_requests_in_tls_cannot_be_read(kafka_cluster: KafkaCluster) -> None:
    with pytest.raises(ValueError, match="use TLS"):
        kafka_cluster.faults(DropRequest(api="Produce"))
