"""Requests to coordinators of groups, and about them."""

from __future__ import annotations

from typing import Any

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_shapes import Asked, Shape

_OFFSET_FETCH_TOP_LEVEL_FROM = 2
_COORDINATORS_BATCHED_FROM = 4


def _offset_commit(asked: Asked, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.OffsetCommitResponseTopic, response.OffsetCommitResponsePartition
    return response(
        topics=[
            topic(
                name=t.name,
                topic_id=t.topic_id,
                partitions=[partition(partition_index=p.partition_index, error_code=code) for p in t.partitions],
            )
            for t in asked.body.topics
        ]
    )


def _offset_fetch(asked: Asked, response: type[Any], code: int, message: str | None) -> Any:
    group = response.OffsetFetchResponseGroup
    answer = response(error_code=code, groups=[group(group_id=g.group_id, error_code=code) for g in asked.body.groups])
    if asked.version < _OFFSET_FETCH_TOP_LEVEL_FROM:
        topic, partition = response.OffsetFetchResponseTopic, response.OffsetFetchResponsePartition
        answer.topics = [
            topic(
                name=t.name,
                partitions=[
                    partition(partition_index=index, committed_offset=-1, error_code=code)
                    for index in t.partition_indexes
                ],
            )
            for t in asked.body.topics or []
        ]
    return answer


def _find_coordinator(asked: Asked, response: type[Any], code: int, message: str | None) -> Any:
    coordinator = response.Coordinator
    if asked.version < _COORDINATORS_BATCHED_FROM:
        return response(error_code=code, error_message=message, node_id=-1, port=-1)
    return response(
        coordinators=[
            coordinator(key=key, node_id=-1, port=-1, error_code=code, error_message=message)
            for key in asked.body.coordinator_keys
        ],
    )


def _describe_groups(asked: Asked, response: type[Any], code: int, message: str | None) -> Any:
    group = response.DescribedGroup
    return response(groups=[group(group_id=name, error_code=code) for name in asked.body.groups])


def _delete_groups(asked: Asked, response: type[Any], code: int, message: str | None) -> Any:
    result = response.DeletableGroupResult
    return response(results=[result(group_id=name, error_code=code) for name in asked.body.groups_names])


SHAPES: dict[ApiKey, Shape] = {
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.DESCRIBE_GROUPS: _describe_groups,
    ApiKey.DELETE_GROUPS: _delete_groups,
}
