"""What the audit trail has of the starts of brokers: all of them need its topic, and one of them creates it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from signalbox.common.audit_event import AUDIT_TOPIC
from signalbox.testing.process_cluster import ProcessCluster
from tests.waiting import until

pytestmark = pytest.mark.timeout(240)
BROKERS = (1, 2, 3)


def events_until(cluster: ProcessCluster, marker: str) -> list[dict[str, Any]]:
    """All events up to the creation of the topic `marker`, which is a change itself, and to one of each broker that
    runs."""
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap(), "group.id": "auditor"})
    partitions = until(lambda: consumer.list_topics(AUDIT_TOPIC, timeout=10).topics[AUDIT_TOPIC].partitions)
    consumer.assign([TopicPartition(AUDIT_TOPIC, partition, 0) for partition in partitions])
    events: list[dict[str, Any]] = []

    def complete() -> bool:
        events.extend(_read(consumer))
        epochs = {(event["broker_id"], event["broker_epoch"]) for event in events}
        marked = any(event["kind"] == "admin" and event["resource"] == marker for event in events)
        return marked and all(sum(broker == one for broker, _ in epochs) == int(marker[-1]) for one in BROKERS)

    until(complete, f"the audit trail of start {marker[-1]}")
    consumer.close()
    return events


def _read(consumer: Consumer) -> Iterator[dict[str, Any]]:
    for message in consumer.consume(500, 0.5):
        yield json.loads(message.value() or b"{}")


def test_brokers_that_start_together_create_the_topic_once(tmp_path: Path) -> None:
    for start in (1, 2):
        with ProcessCluster(tmp_path, len(BROKERS)) as cluster:
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
            admin.create_topics([NewTopic(f"start-{start}", 1, 1)])[f"start-{start}"].result(60)
            events = events_until(cluster, f"start-{start}")
            creations = [event for event in events if event["api"] == "CREATE_TOPICS" and event["kind"] == "admin"]
            assert [event for event in creations if event["error"] == "TOPIC_ALREADY_EXISTS"] == []
