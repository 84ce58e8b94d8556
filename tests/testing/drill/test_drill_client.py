"""Signalbox's own client in a drill."""

from __future__ import annotations

import pytest

from signalbox.testing.drill.drill_client import TOPIC, SignalboxProducer
from signalbox.testing.faults import Stall
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster

pytestmark = pytest.mark.spec("R7")


@pytest.mark.kafka_cluster(brokers=1, topics={TOPIC: 3})
def test_send_returns_at_once_and_the_future_is_the_acknowledgement(kafka_cluster: KafkaCluster) -> None:
    producer = SignalboxProducer(kafka_cluster.client_config())
    try:
        with kafka_cluster.faults(Stall(1)):
            futures = [producer.send(partition, b"x") for partition in (2, 1)]
            assert not any(future.done() for future in futures)
        for future in futures:
            future.result(60)
    finally:
        producer.close()
    assert {partition: len(records) for partition, records in kafka_cluster.topics.records(TOPIC).items()} == {
        0: 0,
        1: 1,
        2: 1,
    }
