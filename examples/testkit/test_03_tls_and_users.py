"""TLS and SCRAM in one line: certificates and users are made for the cluster. Client: aiokafka."""

import asyncio

import pytest
from aiokafka import AIOKafkaProducer

from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster


@pytest.mark.kafka_cluster(security="SASL_SSL", mechanism="SCRAM-SHA-512", users={"alice": "a-secret"})
def test_a_user_logs_in(kafka_cluster: KafkaCluster, kafka_topic: str) -> None:
    async def produce() -> None:
        async with AIOKafkaProducer(**kafka_cluster.client_config("alice").aiokafka()) as producer:
            await producer.send_and_wait(kafka_topic, b"confidential", partition=0)

    asyncio.run(produce())
    assert [record.value for record in kafka_cluster.topics.records(kafka_topic)[0]] == [b"confidential"]
