"""The error response of each API: the same code at every place where Kafka puts it.

Kafka answers a request that fails as a whole in the request's own shape: per topic, per partition, per group or at
the top. One small function per shape, one row per API; a test holds the table total over the routes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signalbox.broker.api_request import ApiRequest, ResponseMessage
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error

Shape = Callable[[Any, type[Any], int, str | None], Any]


def error_response(request: ApiRequest, error: Error, message: str | None = None) -> ResponseMessage:
    """The API's response that carries `error` for everything that was asked."""
    row = API_TABLE[request.header.api_key]
    shape = _SHAPES.get(request.header.api_key, _top_level)
    answer: ResponseMessage = shape(request.body, row.response, int(error), message)
    return answer


def _top_level(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    answer = response(error_code=code)
    if message is not None and hasattr(answer, "error_message"):
        answer.error_message = message
    return answer


def _produce(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.TopicProduceResponse, response.PartitionProduceResponse
    return response(
        responses=[
            topic(
                name=asked.name,
                topic_id=asked.topic_id,
                partition_responses=[
                    partition(index=p.index, error_code=code, base_offset=-1, error_message=message)
                    for p in asked.partition_data
                ],
            )
            for asked in body.topic_data
        ]
    )


def _fetch(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.FetchableTopicResponse, response.PartitionData
    return response(
        error_code=code,
        responses=[
            topic(
                topic=asked.topic,
                topic_id=asked.topic_id,
                partitions=[
                    partition(partition_index=p.partition, error_code=code, high_watermark=-1, records=b"")
                    for p in asked.partitions
                ],
            )
            for asked in body.topics
        ],
    )


def _list_offsets(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.ListOffsetsTopicResponse, response.ListOffsetsPartitionResponse
    return response(
        topics=[
            topic(
                name=t.name,
                partitions=[partition(partition_index=p.partition_index, error_code=code) for p in t.partitions],
            )
            for t in body.topics
        ]
    )


def _metadata(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    topic = response.MetadataResponseTopic
    return response(topics=[topic(error_code=code, name=t.name, topic_id=t.topic_id) for t in body.topics or []])


def _offset_commit(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.OffsetCommitResponseTopic, response.OffsetCommitResponsePartition
    return response(
        topics=[
            topic(
                name=t.name,
                topic_id=t.topic_id,
                partitions=[partition(partition_index=p.partition_index, error_code=code) for p in t.partitions],
            )
            for t in body.topics
        ]
    )


def _offset_fetch(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    group = response.OffsetFetchResponseGroup
    return response(error_code=code, groups=[group(group_id=g.group_id, error_code=code) for g in body.groups])


def _find_coordinator(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    coordinator = response.Coordinator
    return response(
        error_code=code,
        error_message=message,
        node_id=-1,
        port=-1,
        coordinators=[
            coordinator(key=key, node_id=-1, port=-1, error_code=code, error_message=message)
            for key in body.coordinator_keys
        ],
    )


def _describe_groups(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    group = response.DescribedGroup
    return response(groups=[group(group_id=name, error_code=code) for name in body.groups])


def _delete_groups(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    result = response.DeletableGroupResult
    return response(results=[result(group_id=name, error_code=code) for name in body.groups_names])


def _create_topics(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    result = response.CreatableTopicResult
    return response(topics=[result(name=t.name, error_code=code, error_message=message) for t in body.topics])


def _delete_topics(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    result = response.DeletableTopicResult
    by_name = [result(name=name, error_code=code, error_message=message) for name in body.topic_names]
    by_state = [result(name=t.name, topic_id=t.topic_id, error_code=code, error_message=message) for t in body.topics]
    return response(responses=by_name + by_state)


def _create_partitions(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    result = response.CreatePartitionsTopicResult
    return response(results=[result(name=t.name, error_code=code, error_message=message) for t in body.topics])


def _delete_records(body: Any, response: type[Any], code: int, message: str | None) -> Any:
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
            for t in body.topics
        ]
    )


def _offset_for_leader_epoch(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.OffsetForLeaderTopicResult, response.EpochEndOffset
    return response(
        topics=[
            topic(
                topic=t.topic,
                partitions=[partition(partition=p.partition, error_code=code) for p in t.partitions],
            )
            for t in body.topics
        ]
    )


def _describe_configs(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    result = response.DescribeConfigsResult
    return response(
        results=[
            result(
                error_code=code,
                error_message=message,
                resource_type=r.resource_type,
                resource_name=r.resource_name,
            )
            for r in body.resources
        ]
    )


def _alter_configs(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    result = response.AlterConfigsResourceResponse
    return response(
        responses=[
            result(
                error_code=code,
                error_message=message,
                resource_type=r.resource_type,
                resource_name=r.resource_name,
            )
            for r in body.resources
        ]
    )


def _describe_topic_partitions(body: Any, response: type[Any], code: int, message: str | None) -> Any:
    topic = response.DescribeTopicPartitionsResponseTopic
    return response(topics=[topic(error_code=code, name=t.name) for t in body.topics])


_SHAPES: dict[int, Shape] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.LIST_OFFSETS: _list_offsets,
    ApiKey.METADATA: _metadata,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.DESCRIBE_GROUPS: _describe_groups,
    ApiKey.DELETE_GROUPS: _delete_groups,
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.DELETE_RECORDS: _delete_records,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _offset_for_leader_epoch,
    ApiKey.DESCRIBE_CONFIGS: _describe_configs,
    ApiKey.ALTER_CONFIGS: _alter_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _alter_configs,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: _describe_topic_partitions,
}
