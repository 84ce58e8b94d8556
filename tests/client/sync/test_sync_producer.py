from __future__ import annotations

import pytest

from signalbox.client.admin_apis.offset_admin import EARLIEST
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.consumer import ConsumerSettings
from signalbox.client.failures import ChannelClosed
from signalbox.client.group_consumer.group_settings import GroupConsumerSettings
from signalbox.client.producer import ProducerSettings
from signalbox.client.rejections import ProducerFenced
from signalbox.client.sync.sync_client import SyncClient
from signalbox.common.ids import TopicPartition


@pytest.mark.spec("R10")
def test_records_are_queued_in_order_and_acknowledged(client: SyncClient) -> None:
    client.call(client.admin.create_topics, [NewTopic(name="sent", num_partitions=1)])
    with client.producer(ProducerSettings(linger_ms=2)) as producer:
        sent = [producer.send("sent", b"%d" % number, key=b"k") for number in range(200)]
        assert sent[0].result(30).topic_partition == TopicPartition("sent", 0)
        producer.flush()
        assert [future.result(0).offset for future in sent] == list(range(200))
    with client.consumer() as consumer:
        consumer.assign({TopicPartition("sent", 0): EARLIEST})
        found: list[bytes | None] = []
        while len(found) < 200:
            found += [row.value for row in consumer.poll()]
    assert found == [b"%d" % number for number in range(200)]


def test_close_gives_up_what_is_not_acknowledged(client: SyncClient) -> None:
    client.call(client.admin.create_topics, [NewTopic(name="given-up", num_partitions=1)])
    producer = client.producer(ProducerSettings(linger_ms=60_000))
    future = producer.send("given-up", b"x")
    producer.close()
    with pytest.raises(ChannelClosed):
        future.result(30)


def test_close_aborts_an_open_transaction(client: SyncClient) -> None:
    client.call(client.admin.create_topics, [NewTopic(name="left-open", num_partitions=1)])
    producer = client.producer(ProducerSettings(transactional_id="left-open"))
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("left-open", b"x").result(60)
    producer.close(timeout_ms=60_000)
    described = client.call(client.admin.describe_transactions, ["left-open"])["left-open"]
    assert described.state in ("PrepareAbort", "CompleteAbort")


@pytest.mark.spec("R10")
def test_records_and_offsets_are_copied_in_transactions(client: SyncClient) -> None:
    topics = [NewTopic(name=name, num_partitions=1) for name in ("copied-from", "copied-to")]
    client.call(client.admin.create_topics, topics)
    committed = ConsumerSettings(auto_offset_reset="earliest", isolation_level="read_committed")
    source = TopicPartition("copied-from", 0)
    with client.producer() as producer:
        producer.send("copied-from", b"x").result(30)
    with (
        client.group_consumer(
            GroupConsumerSettings(group_id="copies", enable_auto_commit=False, fetch=committed)
        ) as consumer,
        client.producer(ProducerSettings(transactional_id="copies")) as producer,
    ):
        consumer.subscribe(["copied-from"])
        producer.init_transactions()
        while not (records := consumer.poll()):
            pass
        with pytest.raises(ZeroDivisionError), producer.transaction():
            producer.send("copied-to", b"%d" % (1 // 0))
        with producer.transaction() as transaction:
            transaction.send("copied-to", records[0].value)
            transaction.send_offsets_to_transaction({source: records[0].offset + 1}, consumer.group_metadata())
        assert consumer.committed([source])[source].offset == 1
    with client.consumer(committed) as reader:
        reader.assign({TopicPartition("copied-to", 0): EARLIEST})
        found: list[bytes | None] = []
        while not found:
            found += [row.value for row in reader.poll()]
    assert found == [b"x"]


def test_transactions_by_single_calls(client: SyncClient) -> None:
    client.call(client.admin.create_topics, [NewTopic(name="single", num_partitions=1)])
    settings = ProducerSettings(transactional_id="single")
    with client.producer(settings) as first, client.producer(settings) as second:
        first.init_transactions()
        first.begin_transaction()
        first.send("single", b"x")
        first.commit_transaction()
        first.begin_transaction()
        first.abort_transaction(timeout_ms=30_000)
        first.begin_transaction()
        first.send("single", b"y").result(30)
        second.init_transactions()
        with pytest.raises(ProducerFenced):
            first.commit_transaction()
