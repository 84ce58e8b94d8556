"""kafka-python, unmodified: producer, a group of members, admin. (The other codecs need packages beside it.)"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from tests.system.clusters import until
from tests.system.conftest import MakeTopic


def read_all(consumer: Any, count: int, timeout_s: float = 30) -> list[Any]:
    found: list[Any] = []
    deadline = time.monotonic() + timeout_s
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records came"
        for records in consumer.poll(timeout_ms=500).values():
            found.extend(records)
    return found


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_an_idempotent_producer_and_a_reader(
    kafka_bootstrap: str, make_topic: MakeTopic, compression: str | None
) -> None:
    topic = make_topic(2)
    with closing(
        KafkaProducer(
            bootstrap_servers=kafka_bootstrap, acks="all", enable_idempotence=True, compression_type=compression
        )
    ) as producer:
        sent = [producer.send(topic, f"{number}".encode(), f"{number % 7}".encode(), headers=[("h", b"1")])
                for number in range(1_000)]  # fmt: skip
        producer.flush(30)
        assert {future.get(10).partition for future in sent} == {0, 1}
    with closing(KafkaConsumer(bootstrap_servers=kafka_bootstrap, auto_offset_reset="earliest")) as consumer:
        consumer.assign([TopicPartition(topic, 0), TopicPartition(topic, 1)])
        found = read_all(consumer, 1_000)
    assert sorted(int(record.value) for record in found) == list(range(1_000))
    assert all(record.headers and record.headers[0] == ("h", b"1") for record in found)


def test_a_group_of_two_shares_and_commits(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(4)
    with closing(KafkaProducer(bootstrap_servers=kafka_bootstrap, acks="all")) as producer:
        for number in range(400):
            producer.send(topic, str(number).encode(), partition=number % 4)
        producer.flush(30)
    group = f"kafka-python-{topic}"

    def member() -> Any:
        return KafkaConsumer(
            topic,
            bootstrap_servers=kafka_bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=500,
            session_timeout_ms=6_000,
        )

    with closing(member()) as first, closing(member()) as second:
        members = (first, second)
        values: list[int] = []

        def shared(condition: Callable[[], bool]) -> Callable[[], bool]:
            def poll() -> bool:
                for consumer in members:
                    for records in consumer.poll(timeout_ms=100).values():
                        values.extend(int(record.value) for record in records)
                return condition()

            return poll

        until(shared(lambda: all(len(consumer.assignment()) == 2 for consumer in members)), "two partitions each", 90)
        until(shared(lambda: set(values) == set(range(400))), "all records")
        for consumer in members:
            consumer.commit()
    with closing(member()) as third:
        until(lambda: (third.poll(timeout_ms=100), len(third.assignment()) == 4)[1], "all partitions")
        assert sum(third.committed(TopicPartition(topic, part)) for part in range(4)) == 400
        assert not third.poll(timeout_ms=500)


def test_offsets_are_found_by_time(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    part = TopicPartition(topic, 0)
    start = int(time.time() * 1000) - 50_000
    with closing(KafkaProducer(bootstrap_servers=kafka_bootstrap, acks="all")) as producer:
        for number in range(50):
            producer.send(topic, b"x", timestamp_ms=start + number * 1_000).get(10)
    with closing(KafkaConsumer(bootstrap_servers=kafka_bootstrap)) as consumer:
        assert consumer.beginning_offsets([part]) == {part: 0}
        assert consumer.end_offsets([part]) == {part: 50}
        assert consumer.offsets_for_times({part: start + 20_500})[part].offset == 21
        assert consumer.offsets_for_times({part: start + 1_000_000})[part] is None


def test_admin_asks_and_changes(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    with closing(KafkaAdminClient(bootstrap_servers=kafka_bootstrap)) as admin:
        assert topic in admin.list_topics()
        described = admin.describe_topics([topic])[0]
        assert len(described["partitions"]) == 3
        cluster = admin.describe_cluster()
        assert {broker["broker_id"] for broker in cluster["brokers"]} == {1, 2, 3}
        admin.delete_topics([topic])
        until(lambda: topic not in admin.list_topics(), "the topic's end")
