"""The transactional producer against a broker: what is committed, aborted, fenced; offsets; failures."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPartition

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ChannelClosed
from signalbox.client.producer import ProducerSettings
from signalbox.client.rejections import RequestRejected
from signalbox.client.transactions.transactional_producer import TransactionalProducer
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.testing.cluster import Cluster

pytestmark = pytest.mark.spec("D5", "R10")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(brokers=1) as running:
        yield running


def run(cluster: Cluster, topic: str, steps: Callable[[ClusterClient], Awaitable[None]]) -> None:
    """Runs `steps` with a client, after `topic` was created with two partitions."""

    async def main() -> None:
        settings = ClientSettings.of(cluster.bootstrap_servers)
        async with ClusterClient(settings) as client:
            (await AdminClient(client).create_topics([NewTopic(name=topic, num_partitions=2)]))[topic].raise_for_error()
            await steps(client)

    asyncio.run(asyncio.wait_for(main(), 60))


def committed(cluster: Cluster, topic: str, count: int) -> list[bytes]:
    """The first values of partition 0 for a consumer with read_committed."""
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": topic, "isolation.level": "read_committed"}
    consumer = Consumer(settings)
    consumer.assign([ClientPartition(topic, 0, 0)])
    values = [message.value() or b"" for message in consumer.consume(count, 30)]
    consumer.close()
    return values


def test_transactions_are_visible_when_they_are_committed(cluster: Cluster) -> None:
    async def steps(client: ClusterClient) -> None:
        async with TransactionalProducer(client, "commits") as producer:
            for number in range(6):
                producer.begin()
                sent = [await producer.send("commits", b"%d" % number, partition=index) for index in (0, 1)]
                if number % 2:
                    await asyncio.gather(*sent)
                    await producer.abort()
                else:
                    await producer.commit()
            producer.begin()
            await producer.commit()

    run(cluster, "commits", steps)
    assert committed(cluster, "commits", 3) == [b"0", b"2", b"4"]


def test_an_abort_discards_records_that_were_not_sent(cluster: Cluster) -> None:
    async def steps(client: ClusterClient) -> None:
        async with TransactionalProducer(client, "discards", ProducerSettings(linger_ms=600_000)) as producer:
            producer.begin()
            waiting = await producer.send("discards", b"never", partition=0)
            await producer.abort()
            with pytest.raises(ChannelClosed, match="aborted"):
                await waiting
            async with producer.transaction():
                await producer.send("discards", b"later", partition=0)

    run(cluster, "discards", steps)
    assert committed(cluster, "discards", 1) == [b"later"]


def test_offsets_are_committed_with_the_records(cluster: Cluster) -> None:
    async def steps(client: ClusterClient) -> None:
        source = TopicPartition("offsets", 1)
        async with TransactionalProducer(client, "offsets") as producer:
            for offset, ends in ((5, producer.abort), (3, producer.commit)):
                producer.begin()
                await producer.send_offsets({source: offset}, "of-offsets")
                await ends()

    run(cluster, "offsets", steps)
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "of-offsets"})
    [partition] = consumer.committed([ClientPartition("offsets", 1)], 30)
    consumer.close()
    assert partition.offset == 3


def test_a_newer_producer_fences_the_former_one(cluster: Cluster) -> None:
    async def steps(client: ClusterClient) -> None:
        async with TransactionalProducer(client, "fenced") as former:
            former.begin()
            await (await former.send("fenced", b"lost", partition=0))
            async with TransactionalProducer(client, "fenced") as latter:
                with pytest.raises(RequestRejected) as rejected:
                    await former.commit()
                assert rejected.value.error is Error.PRODUCER_FENCED
                async with latter.transaction():
                    await latter.send("fenced", b"kept", partition=0)

    run(cluster, "fenced", steps)
    assert committed(cluster, "fenced", 1) == [b"kept"]


def test_a_transaction_with_a_failed_record_can_only_be_aborted(cluster: Cluster) -> None:
    async def steps(client: ClusterClient) -> None:
        settings = ProducerSettings(max_request_size_bytes=3_000_000, batch_size_bytes=3_000_000)
        async with TransactionalProducer(client, "fails", settings) as producer:
            producer.begin()
            await producer.send("fails", b"before", partition=0)
            await producer.send("fails", b"x" * 2_000_000, partition=1)
            with pytest.raises(KafkaError) as failed:
                await producer.commit()
            await producer.abort()
            assert failed.value.error is Error.MESSAGE_TOO_LARGE
            async with producer.transaction():
                await producer.send("fails", b"after", partition=0)

    run(cluster, "fails", steps)
    assert committed(cluster, "fails", 1) == [b"after"]


def test_calls_without_a_transaction(cluster: Cluster) -> None:
    async def steps(client: ClusterClient) -> None:
        async with TransactionalProducer(client, "calls") as producer:
            for call in (producer.commit(), producer.abort(), producer.send("calls", b"v")):
                with pytest.raises(RuntimeError, match="begin one"):
                    await call
            producer.begin()
            with pytest.raises(RuntimeError, match="is open"):
                producer.begin()

    run(cluster, "calls", steps)
