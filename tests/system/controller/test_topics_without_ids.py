"""A topic whose entry has no id, as Apache Kafka below inter.broker.protocol.version 2.8 wrote it, is replicated."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from signalbox.metadata.layout import topic_path
from signalbox.testing.process_cluster import ProcessCluster

pytestmark = [pytest.mark.timeout(180), pytest.mark.spec("M2")]


def produce(cluster: ProcessCluster, values: range) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap(), "acks": "all", "delivery.timeout.ms": "60000"})
    errors: list[object] = []
    for value in values:
        producer.produce("old", str(value), on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(90) == 0
    assert errors == [None] * len(values)


def values(cluster: ProcessCluster, count: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap(), "group.id": "unused"})
    consumer.assign([TopicPartition("old", 0, 0)])
    messages = consumer.consume(count, 60)
    consumer.close()
    return [int(message.value() or b"") for message in messages]


def forget_id(file: Path, topic: str) -> str:
    """Writes the entry as an older controller did; returns the id that it had."""
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        [[data]] = database.execute("SELECT data FROM entry WHERE path = ?", (topic_path(topic),)).fetchall()
        entry = json.loads(data)
        topic_id: str = entry.pop("topic_id")
        database.execute("UPDATE entry SET data = ? WHERE path = ?", (json.dumps(entry), topic_path(topic)))
    return topic_id


def test_it_gets_an_id_from_the_controller_and_is_replicated(tmp_path: Path) -> None:
    overrides = {"signalbox.audit.enable": "false"}
    with ProcessCluster(tmp_path, 2, overrides=overrides) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
        new = NewTopic("old", 1, 2, config={"min.insync.replicas": "2"})
        admin.create_topics([new], operation_timeout=30)["old"].result(60)
        produce(cluster, range(10))
        for node_id in (1, 2):
            assert cluster.stop_broker(node_id) == 0
        before = forget_id(tmp_path / "metadata.db", "old")
        for path in tmp_path.rglob("old-0/partition.metadata"):
            path.unlink()  # an older broker had none
        cluster.start_brokers([1, 2])
        produce(cluster, range(10, 20))
        assert values(cluster, 20) == list(range(20))
    assert forget_id(tmp_path / "metadata.db", "old") not in ("", before)
