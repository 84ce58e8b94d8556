from __future__ import annotations

import asyncio
from typing import Any

import pytest

from signalbox.client.cluster.metadata_view import MetadataView, TopicView
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.sender.produce_exchange import ProducerIds, answers_by_partition, produce_request
from signalbox.client.sender.producer_batch import PartitionQueue, ProducerBatch, ProducerIdentity
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.init_producer_id import InitProducerIdResponse
from signalbox.protocol.messages.produce import ProduceResponse
from signalbox.protocol.records.batch_header import read_batch_header
from signalbox.protocol.records.record_batch import Record
from signalbox.testing.switchboard import Switchboard
from tests.client.crossed_cluster import with_client
from tests.client.loopback_cluster import LoopbackCluster

VIEW = MetadataView()
VIEW.topics = {name: TopicView(name, name.encode() * 16) for name in "tu"}


def test_batches_become_one_request_with_names_and_ids() -> None:
    async def run() -> None:
        sending = []
        for topic, index in (("t", 0), ("u", 1), ("t", 2)):
            batch, queue = ProducerBatch(0, 1), PartitionQueue(TopicPartition(topic, index))
            batch.add(Record(timestamp=1, value=b"v"), asyncio.get_running_loop().create_future())
            queue.place(batch, ProducerIdentity(7, 1, "c"))
            sending.append((queue, batch))
        request = produce_request(sending, VIEW, "none", 5_000)
        assert (request.acks, request.timeout_ms) == (-1, 5_000)
        found = [(row.name, row.topic_id[:1], [p.index for p in row.partition_data]) for row in request.topic_data]
        assert found == [("t", b"t", [0, 2]), ("u", b"u", [1])]
        records = request.topic_data[0].partition_data[0].records
        assert isinstance(records, bytes)
        header = read_batch_header(records)
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 0)
        for version in (3, 13):
            assert request.encode(version)

    asyncio.run(run())


def test_answers_are_found_by_name_and_by_id() -> None:
    row = ProduceResponse.PartitionProduceResponse(index=4, base_offset=9)
    made = ProduceResponse.TopicProduceResponse
    by_name = ProduceResponse(responses=[made(name="t", partition_responses=[row])])
    by_id = ProduceResponse(responses=[made(topic_id=b"u" * 16, partition_responses=[row])])
    unknown = ProduceResponse(responses=[made(topic_id=b"x" * 16, partition_responses=[row])])
    assert answers_by_partition(by_name, VIEW) == {TopicPartition("t", 4): row}
    assert answers_by_partition(by_id, VIEW) == {TopicPartition("u", 4): row}
    assert answers_by_partition(unknown, VIEW) == {}


def test_an_id_is_usable_until_another_is_obtained_or_the_cluster_is_another() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        await client.topic("t1")
        ids = ProducerIds(client)
        assert ids.usable is None
        await ids.obtain()
        first = ids.usable
        assert first is not None
        await ids.obtain()
        second = ids.usable
        assert second is not None
        assert (second.producer_id, second.cluster_id) == (first.producer_id + 1, "cluster-A")
        client.view.cluster_id = "cluster-B"
        assert ids.usable is None
        await ids.obtain()
        third = ids.usable
        assert third is not None
        assert third.cluster_id == "cluster-B"


def test_an_id_of_a_cluster_that_the_client_has_left_meanwhile_is_not_used() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        broker = cluster.brokers[1]

        def moved(request: Any, version: int) -> Any:
            client.view.cluster_id = "cluster-B"
            return broker.init_producer_id(request)

        broker.scripts[ApiKey.INIT_PRODUCER_ID] = moved
        await client.topic("t1")
        ids = ProducerIds(client)
        await ids.obtain()
        assert ids.usable is None

    with_client(test, size=1)


def test_a_rejection_is_raised() -> None:
    async def test(cluster: LoopbackCluster, board: Switchboard, client: ClusterClient) -> None:
        cluster.brokers[1].scripts[ApiKey.INIT_PRODUCER_ID] = lambda request, version: InitProducerIdResponse(
            error_code=Error.CLUSTER_AUTHORIZATION_FAILED
        )
        with pytest.raises(KafkaError, match="no producer id"):
            await ProducerIds(client).obtain()

    with_client(test, size=1)
