from __future__ import annotations

from typing import Any

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.client.admin_apis.transaction_admin import ProducerState
from signalbox.client.failures import VersionUnsupported
from signalbox.client.producer import Producer
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from signalbox.protocol.messages.write_txn_markers import WriteTxnMarkersResponse
from signalbox.testing.cluster import Cluster
from tests.client.admin_apis.over_cluster import over_cluster
from tests.client.loopback_cluster import LoopbackCluster
from tests.client.test_admin import with_admin

PARTITION = TopicPartition("paid", 0)


async def begin(admin: AdminClient, name: str) -> tuple[int, int]:
    """A transaction of a producer that does nothing further; its producer id and epoch."""
    producer_id, epoch = (await admin.fence_producers([name]))[name]
    topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=PARTITION.topic, partitions=[PARTITION.partition])
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=[topic],
    )
    coordinator_id = (await admin.describe_transactions([name]))[name].coordinator_id
    response = await admin.client.request(coordinator_id, request, max_version=3)
    assert response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == Error.NONE
    return producer_id, epoch


@pytest.mark.spec("R10")
def test_transactions_are_listed_described_and_fenced(cluster: Cluster) -> None:
    async def test(admin: AdminClient) -> None:
        (await admin.create_topics([NewTopic(name="paid", num_partitions=1)]))["paid"].raise_for_error()
        producer_id, epoch = await begin(admin, "till-1")
        described = (await admin.describe_transactions(["till-1"]))["till-1"]
        assert (described.state, described.producer_id, described.producer_epoch) == ("Ongoing", producer_id, epoch)
        assert described.partitions == {PARTITION}
        assert described.start_ms is not None
        await admin.fence_producers(["till-2"])
        listed = await admin.list_transactions()
        assert [(row.transactional_id, row.state) for row in listed] == [("till-1", "Ongoing"), ("till-2", "Empty")]
        assert [row.transactional_id for row in await admin.list_transactions(states=["Empty"])] == ["till-2"]
        assert [row.transactional_id for row in await admin.list_transactions(pattern="till-1")] == ["till-1"]
        long_open = await admin.list_transactions(duration_ms=3_600_000)
        assert [row.transactional_id for row in long_open] == ["till-2"], "an id without a transaction is always old"
        assert [row.state for row in await admin.list_transactions(producer_ids=[producer_id])] == ["Ongoing"]
        assert (await admin.fence_producers(["till-1"]))["till-1"] > (producer_id, epoch)
        after = (await admin.describe_transactions(["till-1"]))["till-1"]
        assert (after.partitions, after.start_ms) == (frozenset(), None)
        with pytest.raises(KafkaError) as raised:
            await admin.describe_transactions(["no-such-id"])
        assert raised.value.error == Error.TRANSACTIONAL_ID_NOT_FOUND

    over_cluster(cluster, test)


@pytest.mark.spec("R10")
def test_producers_of_a_partition(cluster: Cluster) -> None:
    async def test(admin: AdminClient) -> None:
        await admin.create_topics([NewTopic(name="written", num_partitions=1)])
        partition = TopicPartition("written", 0)
        async with Producer(admin.client) as producer:
            for value in (b"0", b"1"):
                await producer.send("written", value, timestamp_ms=1_700_000_000_000)
        (state,) = (await admin.describe_producers([partition]))[partition]
        assert (state.producer_epoch, state.last_sequence, state.transaction_start_offset) == (0, 1, None)
        assert state.last_timestamp_ms == 1_700_000_000_000

    over_cluster(cluster, test)


def test_a_filter_that_the_broker_does_not_have_is_an_error() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        cluster.brokers[1].max_versions[ApiKey.LIST_TRANSACTIONS] = 0
        with pytest.raises(VersionUnsupported, match="DurationFilter = 5"):
            await admin.list_transactions(duration_ms=5)

    with_admin(test)


def test_a_hanging_transaction_is_aborted_at_the_leader() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        made = WriteTxnMarkersResponse
        codes = [Error.NONE, Error.INVALID_PRODUCER_EPOCH]

        def answer(request: Any, version: int) -> Any:
            row = made.WritableTxnMarkerPartitionResult(partition_index=0, error_code=codes.pop(0))
            topic = made.WritableTxnMarkerTopicResult(name="t1", partitions=[row])
            return made(markers=[made.WritableTxnMarkerResult(producer_id=5, topics=[topic])])

        broker = cluster.brokers[1]
        broker.scripts[ApiKey.WRITE_TXN_MARKERS] = answer
        state = ProducerState(
            producer_id=5,
            producer_epoch=3,
            last_sequence=0,
            last_timestamp_ms=0,
            coordinator_epoch=-1,
            transaction_start_offset=7,
        )
        await admin.abort_transaction(TopicPartition("t1", 0), state)
        (marker,) = broker.seen(ApiKey.WRITE_TXN_MARKERS)[0].markers
        assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (5, 3, 0)
        assert (marker.transaction_result, marker.topics[0].partition_indexes) == (False, [0])
        with pytest.raises(KafkaError, match="t1-0"):
            await admin.abort_transaction(TopicPartition("t1", 0), state)

    with_admin(test)
