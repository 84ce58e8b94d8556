"""confluent-kafka (librdkafka), unmodified: produce, consume, groups, admin."""

from __future__ import annotations

import time
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewPartitions

from tests.system.conftest import MakeTopic
from tests.waiting import until


def produce(bootstrap: str, topic: str, values: list[str], **settings: Any) -> list[Message]:
    """Produces all values, fails if one is not acknowledged; the delivered messages in order of acknowledgement."""
    delivered: list[Message] = []
    failed: list[Any] = []

    def done(error: Any, message: Message) -> None:
        delivered.append(message) if error is None else failed.append(error)

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", **settings})
    for number, value in enumerate(values):
        producer.produce(topic, value.encode(), f"k{number % 16}".encode(), on_delivery=done)
    assert producer.flush(30) == 0
    assert not failed, failed
    return delivered


def consume(consumer: Consumer, count: int, timeout_s: float = 30) -> list[Message]:
    """`count` messages; AssertionError if they do not arrive."""
    found: list[Message] = []
    deadline = time.monotonic() + timeout_s
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} messages came"
        for message in consumer.consume(count - len(found), 1.0):
            assert message.error() is None, message.error()
            found.append(message)
    return found


def text(message: Message) -> str:
    """A message's value."""
    return (message.value() or b"").decode()


def reader(bootstrap: str, group: str, **settings: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 5,
            **settings,
        }
    )


@pytest.mark.spec("D1")
@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_was_produced_is_consumed(kafka_bootstrap: str, make_topic: MakeTopic, compression: str) -> None:
    topic = make_topic(3)
    values = [f"{compression} {number} " + "x" * 200 for number in range(2_000)]
    produce(kafka_bootstrap, topic, values, **{"compression.type": compression, "linger.ms": 5})
    consumer = reader(kafka_bootstrap, topic)
    consumer.subscribe([topic])
    found = consume(consumer, len(values))
    consumer.close()
    assert sorted(text(message) for message in found) == sorted(values)
    for partition in range(3):
        offsets = [message.offset() for message in found if message.partition() == partition]
        assert offsets == list(range(len(offsets)))


@pytest.mark.spec("D1")
def test_headers_keys_timestamps_and_nulls_arrive(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    stamp = int(time.time() * 1000) - 5_000
    producer = Producer({"bootstrap.servers": kafka_bootstrap, "enable.idempotence": True})
    producer.produce(topic, b"v", b"k", headers=[("a", b"1"), ("a", b"2"), ("none", None)], timestamp=stamp)
    producer.produce(topic, None, b"tombstone")
    producer.produce(topic, b"", None)
    assert producer.flush(20) == 0
    consumer = reader(kafka_bootstrap, topic)
    consumer.assign([TopicPartition(topic, 0, 0)])
    first, tombstone, empty = consume(consumer, 3)
    consumer.close()
    assert first.headers() == [("a", b"1"), ("a", b"2"), ("none", None)]
    assert first.timestamp() == (1, stamp)
    assert (first.key(), first.value()) == (b"k", b"v")
    assert (tombstone.key(), tombstone.value()) == (b"tombstone", None)
    assert (empty.key(), empty.value()) == (None, b"")


@pytest.mark.spec("D1")
@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acks(kafka_bootstrap: str, make_topic: MakeTopic, acks: str) -> None:
    topic = make_topic()
    produce(kafka_bootstrap, topic, [str(number) for number in range(500)], acks=acks)
    consumer = reader(kafka_bootstrap, topic)
    consumer.assign([TopicPartition(topic, 0, 0)])
    values = [int(message.value() or b"-1") for message in consume(consumer, 500)]
    consumer.close()
    assert values == list(range(500))


@pytest.mark.spec("D4")
def test_an_idempotent_producer_keeps_order(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    values = [str(number) for number in range(20_000)]
    produce(kafka_bootstrap, topic, values, **{"enable.idempotence": True, "batch.num.messages": 100})
    consumer = reader(kafka_bootstrap, topic)
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert [text(message) for message in consume(consumer, len(values))] == values
    consumer.close()


@pytest.mark.spec("D8")
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_group_rebalances_and_goes_on_where_it_committed(
    kafka_bootstrap: str, make_topic: MakeTopic, strategy: str
) -> None:
    topic = make_topic(4)
    group = f"group-of-{topic}"
    produce(kafka_bootstrap, topic, [f"a{number}" for number in range(400)])
    settings = {"partition.assignment.strategy": strategy, "session.timeout.ms": 6_000}
    first, second = reader(kafka_bootstrap, group, **settings), reader(kafka_bootstrap, group, **settings)
    first.subscribe([topic])
    seen = [text(message) for message in consume(first, 400)]
    first.commit(asynchronous=False)
    second.subscribe([topic])

    def both_have_two() -> bool:
        for consumer in (first, second):
            message = consumer.poll(0.1)
            assert message is None or message.error() is None
        return len(first.assignment()) == len(second.assignment()) == 2

    until(both_have_two, "two partitions for each member")
    assert {part.partition for part in first.assignment() + second.assignment()} == {0, 1, 2, 3}
    produce(kafka_bootstrap, topic, [f"b{number}" for number in range(400)])
    more: list[str] = []

    def all_came() -> bool:
        for consumer in (first, second):
            more.extend(text(message) for message in consumer.consume(500, 0.2))
        return len(more) >= 400

    until(all_came, "what was produced after the rebalance")
    assert sorted(more) == sorted(f"b{number}" for number in range(400))
    assert len(seen) == 400
    first.commit(asynchronous=False)
    first.close()
    until(lambda: second.poll(0.1) is None and len(second.assignment()) == 4, "all partitions for who stayed")
    second.commit(offsets=[TopicPartition(topic, part, 7, metadata="here") for part in range(4)], asynchronous=False)
    committed = second.committed([TopicPartition(topic, part) for part in range(4)], timeout=10)
    assert [(part.offset, part.metadata) for part in committed] == [(7, "here")] * 4
    second.close()


@pytest.mark.spec("D8")
def test_static_members_come_back_without_a_rebalance(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    produce(kafka_bootstrap, topic, ["1", "2"])
    group = f"static-{topic}"
    other = reader(kafka_bootstrap, group, **{"group.instance.id": "other"})
    rebalances: list[int] = []
    member = reader(kafka_bootstrap, group, **{"group.instance.id": "same"})
    member.subscribe([topic])
    until(lambda: (member.poll(0.1), member.assignment())[1], "an assignment")
    other.subscribe([topic], on_assign=lambda *_: rebalances.append(1))

    def shared() -> bool:
        member.poll(0.05)
        other.poll(0.05)
        return len(member.assignment()) == len(other.assignment()) == 1

    until(shared, "one partition each")
    before = len(rebalances)
    member.close()
    again = reader(kafka_bootstrap, group, **{"group.instance.id": "same"})
    again.subscribe([topic])

    def back() -> bool:
        again.poll(0.1)
        other.poll(0.05)
        return bool(again.assignment())

    until(back, "the static member's partition")
    assert len(rebalances) == before
    again.close()
    other.close()


def test_topics_are_created_described_widened_and_deleted(admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic(2, retention_ms="86400000", min_insync_replicas="2")
    described = admin.list_topics(topic, timeout=10).topics[topic]
    assert {index: sorted(part.replicas) for index, part in described.partitions.items()} == {
        0: [1, 2, 3],
        1: [1, 2, 3],
    }
    admin.create_partitions([NewPartitions(topic, 5)])[topic].result(20)
    until(lambda: len(admin.list_topics(topic, timeout=10).topics[topic].partitions) == 5, "five partitions")
    admin.delete_topics([topic], operation_timeout=20)[topic].result(20)
    until(lambda: topic not in admin.list_topics(timeout=10).topics, "the topic's end")


@pytest.mark.spec("D15")
def test_configs_are_described_and_altered(admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic(1, retention_ms="86400000")

    def configs() -> dict[str, Any]:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        return dict(admin.describe_configs([resource])[resource].result(20))

    until(lambda: configs()["retention.ms"].value == "86400000", "what the topic was made with")
    assert configs()["cleanup.policy"].is_default
    change = ConfigResource(
        ResourceType.TOPIC,
        topic,
        incremental_configs=[
            ConfigEntry("retention.ms", "3600000", incremental_operation=AlterConfigOpType.SET),
            ConfigEntry("max.message.bytes", "2000000", incremental_operation=AlterConfigOpType.SET),
        ],
    )
    admin.incremental_alter_configs([change])[change].result(20)
    until(lambda: configs()["retention.ms"].value == "3600000", "the new retention")
    assert configs()["max.message.bytes"].value == "2000000"
    undo = ConfigResource(
        ResourceType.TOPIC,
        topic,
        incremental_configs=[ConfigEntry("retention.ms", None, incremental_operation=AlterConfigOpType.DELETE)],
    )
    admin.incremental_alter_configs([undo])[undo].result(20)
    until(lambda: configs()["retention.ms"].is_default, "the default again")
    wrong = ConfigResource(
        ResourceType.TOPIC,
        topic,
        incremental_configs=[ConfigEntry("retention.ms", "soon", incremental_operation=AlterConfigOpType.SET)],
    )
    with pytest.raises(Exception, match=r"INVALID_CONFIG|retention\.ms"):
        admin.incremental_alter_configs([wrong])[wrong].result(20)


@pytest.mark.spec("D8")
def test_groups_and_their_offsets_are_administered(
    kafka_bootstrap: str, admin: AdminClient, make_topic: MakeTopic
) -> None:
    topic = make_topic(2)
    group = f"administered-{topic}"
    produce(kafka_bootstrap, topic, [str(number) for number in range(100)])
    consumer = reader(kafka_bootstrap, group, **{"client.id": "the-member"})
    consumer.subscribe([topic])
    consume(consumer, 100)
    consumer.commit(asynchronous=False)
    described = admin.describe_consumer_groups([group])[group].result(20)
    assert described.state.name == "STABLE"
    assert [member.client_id for member in described.members] == ["the-member"]
    assert len(described.members[0].assignment.topic_partitions) == 2
    listed = admin.list_consumer_groups().result(20)
    assert group in {found.group_id for found in listed.valid}
    consumer.close()
    until(lambda: admin.describe_consumer_groups([group])[group].result(20).state.name == "EMPTY", "an empty group")
    asked = ConsumerGroupTopicPartitions(group)
    offsets = admin.list_consumer_group_offsets([asked])[group].result(20).topic_partitions
    assert sum(part.offset for part in offsets) == 100
    moved = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 3)])
    admin.alter_consumer_group_offsets([moved])[group].result(20)
    offsets = admin.list_consumer_group_offsets([asked])[group].result(20).topic_partitions
    assert {part.partition: part.offset for part in offsets}[0] == 3
    admin.delete_consumer_groups([group])[group].result(20)
    listed = admin.list_consumer_groups().result(20)
    assert group not in {found.group_id for found in listed.valid}


@pytest.mark.spec("D1")
def test_offsets_are_listed_by_time_and_records_deleted(
    kafka_bootstrap: str, admin: AdminClient, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    start = int(time.time() * 1000) - 100_000
    producer = Producer({"bootstrap.servers": kafka_bootstrap, "acks": "all"})
    for number in range(100):
        producer.produce(topic, str(number).encode(), timestamp=start + number * 1_000)
        if number % 10 == 9:
            assert producer.flush(20) == 0
    part = TopicPartition(topic, 0)

    def listed(spec: OffsetSpec) -> int:
        asked = admin.list_offsets({part: spec}, isolation_level=IsolationLevel.READ_UNCOMMITTED)
        return int(asked[part].result(20).offset)

    assert listed(OffsetSpec.earliest()) == 0
    assert listed(OffsetSpec.latest()) == 100
    assert listed(OffsetSpec.for_timestamp(start + 41_500)) == 42
    assert listed(OffsetSpec.max_timestamp()) == 99
    assert listed(OffsetSpec.for_timestamp(start + 10_000_000)) == -1
    deleted = admin.delete_records([TopicPartition(topic, 0, 30)])
    assert deleted[part].result(20).low_watermark == 30
    assert listed(OffsetSpec.earliest()) == 30
    consumer = reader(kafka_bootstrap, topic)
    assert consumer.get_watermark_offsets(part, timeout=10) == (30, 100)
    by_time = consumer.offsets_for_times([TopicPartition(topic, 0, start + 50_000)], timeout=10)
    assert by_time[0].offset == 50
    consumer.close()


@pytest.mark.spec("F12", "L10")
def test_the_cluster_is_described(kafka_bootstrap: str, admin: AdminClient) -> None:
    described = admin.describe_cluster().result(20)
    assert sorted(f"{node.host}:{node.port}" for node in described.nodes) == sorted(kafka_bootstrap.split(","))
    assert described.controller.id in (1, 2, 3)
    assert len(described.cluster_id) == 22


def test_an_unknown_topic_is_rejected(kafka_bootstrap: str) -> None:
    errors: list[Any] = []
    producer = Producer(
        {"bootstrap.servers": kafka_bootstrap, "allow.auto.create.topics": False, "message.timeout.ms": 3_000}
    )
    producer.produce("no such topic!", b"x", on_delivery=lambda error, _: errors.append(error))
    producer.flush(10)
    assert errors
    assert errors[0] is not None


@pytest.mark.spec("D1")
def test_records_of_an_aborted_transaction_are_not_read(kafka_bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    producer = Producer({"bootstrap.servers": kafka_bootstrap, "transactional.id": topic, "log_level": 2})
    producer.init_transactions(60)
    for value, ends in ((b"aborted", producer.abort_transaction), (b"committed", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.flush(60)
        ends(60)
    consumer = reader(kafka_bootstrap, f"of-{topic}", **{"isolation.level": "read_committed"})
    consumer.subscribe([topic])
    read = until(lambda: [message.value() for message in consumer.consume(10, 1.0)])
    consumer.close()
    assert read == [b"committed"]


@pytest.mark.spec("D5")
def test_a_transactional_producer_ends_with_its_first_error(kafka_bootstrap: str) -> None:
    """The deadline is far away: the call returns because of the response, with an error that no retry can mend."""
    settings = {"transactional.id": "t", "transaction.timeout.ms": 900_001, "log_level": 2}
    producer = Producer({"bootstrap.servers": kafka_bootstrap, **settings})
    with pytest.raises(KafkaException) as failed:
        producer.init_transactions(60)
    error = failed.value.args[0]
    assert error.code() == KafkaError.INVALID_TRANSACTION_TIMEOUT
    assert (error.fatal(), error.retriable()) == (True, False)
