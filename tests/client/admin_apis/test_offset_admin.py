from __future__ import annotations

from typing import Any

import pytest

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.offset_admin import EARLIEST
from signalbox.client.failures import ClientFailure
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.delete_records import DeleteRecordsResponse
from signalbox.protocol.messages.list_offsets import ListOffsetsResponse
from signalbox.protocol.records.record_batch import Record, encode_batch
from tests.client.loopback_cluster import LoopbackCluster
from tests.client.test_admin import with_admin

PARTITION = TopicPartition("t1", 0)


def test_offsets_come_from_the_leader_even_if_it_moved() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        partition = cluster.topics["t1"][0]
        partition.append(encode_batch([Record(value=b"a"), Record(value=b"b")], timestamp_ms=1))
        assert await admin.list_offsets([PARTITION]) == {PARTITION: 2}
        partition.leader, partition.leader_epoch = 2, 1
        assert await admin.list_offsets([PARTITION], EARLIEST) == {PARTITION: 0}
        assert cluster.brokers[2].seen(ApiKey.LIST_OFFSETS)

    with_admin(test, size=2)


def test_records_are_deleted_up_to_an_offset() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        made = DeleteRecordsResponse
        codes = [Error.NONE, Error.OFFSET_OUT_OF_RANGE]

        def answer(request: Any, version: int) -> Any:
            offset = request.topics[0].partitions[0].offset
            row = made.DeleteRecordsPartitionResult(partition_index=0, low_watermark=offset, error_code=codes.pop(0))
            return made(topics=[made.DeleteRecordsTopicResult(name="t1", partitions=[row])])

        cluster.brokers[1].scripts[ApiKey.DELETE_RECORDS] = answer
        assert await admin.delete_records({PARTITION: 3}) == {PARTITION: 3}
        with pytest.raises(KafkaError, match="t1-0"):
            await admin.delete_records({PARTITION: 99})

    with_admin(test)


def test_a_response_without_the_partition_is_no_answer() -> None:
    async def test(cluster: LoopbackCluster, admin: AdminClient) -> None:
        row = ListOffsetsResponse.ListOffsetsPartitionResponse
        topic = ListOffsetsResponse.ListOffsetsTopicResponse
        responses = [
            ListOffsetsResponse(topics=[]),
            ListOffsetsResponse(topics=[topic(name="t1", partitions=[])]),
            ListOffsetsResponse(topics=[topic(name="t1", partitions=[row(partition_index=1, offset=77)])]),
            ListOffsetsResponse(topics=[topic(name="t2", partitions=[row(partition_index=0, offset=77)])]),
            ListOffsetsResponse(topics=[topic(name="t1", partitions=[row(partition_index=0, offset=5)])]),
        ]
        cluster.brokers[1].scripts[ApiKey.LIST_OFFSETS] = lambda request, version: responses.pop(0)
        assert await admin.list_offsets([PARTITION], timeout_ms=40_000) == {PARTITION: 5}
        cluster.brokers[1].scripts[ApiKey.LIST_OFFSETS] = lambda request, version: ListOffsetsResponse(topics=[])
        with pytest.raises(ClientFailure, match="the broker did not answer for t1-0"):
            await admin.list_offsets([PARTITION], timeout_ms=30)

    with_admin(test)
