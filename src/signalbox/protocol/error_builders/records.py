"""Requests about partitions and their records."""

from __future__ import annotations

from typing import Any

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_builders import ErrorBuilder, FailedRequest


def _produce(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.TopicProduceResponse, response.PartitionProduceResponse
    return response(
        responses=[
            topic(
                name=t.name,
                topic_id=t.topic_id,
                partition_responses=[
                    partition(index=p.index, error_code=code, base_offset=-1, error_message=message)
                    for p in t.partition_data
                ],
            )
            for t in request.body.topic_data
        ]
    )


def _fetch(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.FetchableTopicResponse, response.PartitionData
    return response(
        error_code=code,
        responses=[
            topic(
                topic=t.topic,
                topic_id=t.topic_id,
                partitions=[
                    partition(partition_index=p.partition, error_code=code, high_watermark=-1, records=b"")
                    for p in t.partitions
                ],
            )
            for t in request.body.topics
        ],
    )


def _init_producer_id(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    return response(error_code=code, producer_id=-1, producer_epoch=-1)


def _list_offsets(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.ListOffsetsTopicResponse, response.ListOffsetsPartitionResponse
    return response(
        topics=[
            topic(
                name=t.name,
                partitions=[partition(partition_index=p.partition_index, error_code=code) for p in t.partitions],
            )
            for t in request.body.topics
        ]
    )


def _metadata(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic = response.MetadataResponseTopic
    # The name may be null in a request of version 10, but never in its response.
    return response(
        topics=[topic(error_code=code, name=t.name or "", topic_id=t.topic_id) for t in request.body.topics or []]
    )


def _delete_records(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.DeleteRecordsTopicResult, response.DeleteRecordsPartitionResult
    return response(
        topics=[
            topic(
                name=t.name,
                partitions=[
                    partition(partition_index=p.partition_index, low_watermark=-1, error_code=code)
                    for p in t.partitions
                ],
            )
            for t in request.body.topics
        ]
    )


def _offset_for_leader_epoch(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.OffsetForLeaderTopicResult, response.EpochEndOffset
    return response(
        topics=[
            topic(
                topic=t.topic,
                partitions=[partition(partition=p.partition, error_code=code) for p in t.partitions],
            )
            for t in request.body.topics
        ]
    )


def _write_txn_markers(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.WritableTxnMarkerTopicResult, response.WritableTxnMarkerPartitionResult
    return response(
        markers=[
            response.WritableTxnMarkerResult(
                producer_id=m.producer_id,
                topics=[
                    topic(
                        name=t.name,
                        partitions=[partition(partition_index=p, error_code=code) for p in t.partition_indexes],
                    )
                    for t in m.topics
                ],
            )
            for m in request.body.markers
        ]
    )


def _describe_producers(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.TopicResponse, response.PartitionResponse
    return response(
        topics=[
            topic(name=t.name, partitions=[partition(partition_index=p, error_code=code) for p in t.partition_indexes])
            for t in request.body.topics
        ]
    )


def _describe_topic_partitions(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic = response.DescribeTopicPartitionsResponseTopic
    return response(topics=[topic(error_code=code, name=t.name) for t in request.body.topics])


BUILDERS: dict[ApiKey, ErrorBuilder] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.INIT_PRODUCER_ID: _init_producer_id,
    ApiKey.LIST_OFFSETS: _list_offsets,
    ApiKey.METADATA: _metadata,
    ApiKey.DELETE_RECORDS: _delete_records,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _offset_for_leader_epoch,
    ApiKey.WRITE_TXN_MARKERS: _write_txn_markers,
    ApiKey.DESCRIBE_PRODUCERS: _describe_producers,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: _describe_topic_partitions,
}
