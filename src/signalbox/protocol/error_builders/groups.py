"""Requests to coordinators of groups, and about them."""

from __future__ import annotations

from typing import Any

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_builders import ErrorBuilder, FailedRequest

_OFFSET_FETCH_TOP_LEVEL_FROM = 2
_COORDINATORS_BATCHED_FROM = 4
_PROTOCOL_NAME_IS_NULLABLE_FROM = 7


def _offset_commit(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.OffsetCommitResponseTopic, response.OffsetCommitResponsePartition
    return response(
        topics=[
            topic(
                name=t.name,
                topic_id=t.topic_id,
                partitions=[partition(partition_index=p.partition_index, error_code=code) for p in t.partitions],
            )
            for t in request.body.topics
        ]
    )


def _offset_fetch(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    group = response.OffsetFetchResponseGroup
    result = response(
        error_code=code, groups=[group(group_id=g.group_id, error_code=code) for g in request.body.groups]
    )
    if request.version < _OFFSET_FETCH_TOP_LEVEL_FROM:
        topic, partition = response.OffsetFetchResponseTopic, response.OffsetFetchResponsePartition
        result.topics = [
            topic(
                name=t.name,
                partitions=[
                    partition(partition_index=index, committed_offset=-1, error_code=code)
                    for index in t.partition_indexes
                ],
            )
            for t in request.body.topics or []
        ]
    return result


def _find_coordinator(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    coordinator = response.Coordinator
    if request.version < _COORDINATORS_BATCHED_FROM:
        return response(error_code=code, error_message=message, node_id=-1, port=-1)
    return response(
        coordinators=[
            coordinator(key=key, node_id=-1, port=-1, error_code=code, error_message=message)
            for key in request.body.coordinator_keys
        ],
    )


def _describe_groups(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    group = response.DescribedGroup
    return response(groups=[group(group_id=name, error_code=code) for name in request.body.groups])


def _delete_groups(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    result = response.DeletableGroupResult
    return response(results=[result(group_id=name, error_code=code) for name in request.body.groups_names])


def _join_group(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    name = None if request.version >= _PROTOCOL_NAME_IS_NULLABLE_FROM else ""
    return response(error_code=code, protocol_name=name)


BUILDERS: dict[ApiKey, ErrorBuilder] = {
    ApiKey.JOIN_GROUP: _join_group,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.DESCRIBE_GROUPS: _describe_groups,
    ApiKey.DELETE_GROUPS: _delete_groups,
}
