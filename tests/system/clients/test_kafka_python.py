"""kafka-python, unmodified: producer, a group of members, admin. (The other codecs need packages beside it.)"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from tests.system.conftest import MakeTopic
from tests.waiting import until


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


class Member:
    """One member in a thread of its own. It polls for long: in 3.0.12 a poll that times out between JoinGroup and
    SyncGroup leaves the client in an endless busy loop."""

    def __init__(self, bootstrap: str, topic: str, values: set[int]) -> None:
        self.assigned = 0
        self._values = values
        self._consumer = self.consumer_like(bootstrap, topic)

    @staticmethod
    def consumer_like(bootstrap: str, topic: str) -> Any:
        return KafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=f"kafka-python-{topic}",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=300,
            session_timeout_ms=6_000,
        )

    def run(self, done: Event) -> None:
        """Polls until `done` is set; then commits its position and leaves the group."""
        with closing(self._consumer) as consumer:
            while not done.is_set():
                for records in consumer.poll(timeout_ms=3_000).values():
                    self._values.update(int(record.value) for record in records)
                self.assigned = len(consumer.assignment())
            consumer.commit()


def test_a_group_of_two_shares_and_commits(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(4)
    with closing(KafkaProducer(bootstrap_servers=kafka_bootstrap, acks="all")) as producer:
        for number in range(400):
            producer.send(topic, str(number).encode(), partition=number % 4)
        producer.flush(30)
    values: set[int] = set()
    first, second = Member(kafka_bootstrap, topic, values), Member(kafka_bootstrap, topic, values)
    with ThreadPoolExecutor(2) as threads:
        done = Event()
        running = [threads.submit(member.run, done) for member in (first, second)]
        try:
            until(lambda: first.assigned == second.assigned == 2, "two partitions each", 90)
            until(lambda: values == set(range(400)), "all records")
        finally:
            done.set()
        for member in running:
            member.result(30)
    with closing(first.consumer_like(kafka_bootstrap, topic)) as third:
        until(lambda: (third.poll(timeout_ms=1_000), len(third.assignment()) == 4)[1], "all partitions")
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
