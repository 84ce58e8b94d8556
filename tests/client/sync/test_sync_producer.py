from __future__ import annotations

import pytest

from signalbox.client.admin_apis.offset_admin import EARLIEST
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.failures import ChannelClosed
from signalbox.client.producer import ProducerSettings
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
