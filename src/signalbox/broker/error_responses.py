"""The error response of each API: the same code at every place where Kafka puts it.

Kafka answers a request that fails as a whole in the request's own shape: per topic, per partition, per group or at
the top. One small function per shape, one row per API that has its own; a test encodes each at every version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signalbox.broker.api_request import ApiRequest, CloseConnection, FinalAnswer, ResponseMessage
from signalbox.common.long_work import unhurried
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.replication.leadership import refuse_leader_and_isr
from signalbox.security.principal import ANONYMOUS, KafkaPrincipal

_OFFSET_FETCH_TOP_LEVEL_FROM = 2
_ELECT_LEADERS_TOP_LEVEL_FROM = 1
_COORDINATORS_BATCHED_FROM = 4
_TOKEN_NAMES_REQUESTER_FROM = 3

Shape = Callable[[ApiRequest, type[Any], int, str | None], Any]


def error_response(request: ApiRequest, error: Error, message: str | None = None) -> ResponseMessage:
    """The API's response that carries `error` for everything that was asked."""
    row = API_TABLE[request.header.api_key]
    shape = _SHAPES.get(request.header.api_key, _top_level)
    answer: ResponseMessage = shape(request, row.response, int(error), message)
    return answer


def failure(request: ApiRequest, error: Error, message: str | None = None) -> FinalAnswer:
    """What a client is told when its request fails as a whole. Who asked for no acknowledgement reads no answer: the
    next one would be taken for it, so its connection is closed, as in Kafka."""
    if request.header.api_key == ApiKey.PRODUCE and request.body.acks == 0:
        return CloseConnection(f"produce with acks=0 failed: {error.name}")
    return error_response(request, error, message)


def _top_level(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    answer = response(error_code=code)
    if message is not None and hasattr(answer, "error_message"):
        answer.error_message = message
    return answer


def _leader_and_isr(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    return refuse_leader_and_isr(asked.body, asked.header.api_version, Error.of(code))


def _init_producer_id(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    return response(error_code=code, producer_id=-1, producer_epoch=-1)


def _produce(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
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
            for t in asked.body.topic_data
        ]
    )


def _fetch(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
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
            for t in asked.body.topics
        ],
    )


def _list_offsets(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.ListOffsetsTopicResponse, response.ListOffsetsPartitionResponse
    return response(
        topics=[
            topic(
                name=t.name,
                partitions=[partition(partition_index=p.partition_index, error_code=code) for p in t.partitions],
            )
            for t in asked.body.topics
        ]
    )


def _metadata(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic = response.MetadataResponseTopic
    # The name may be null in a request of version 10, never in its answer.
    return response(
        topics=[topic(error_code=code, name=t.name or "", topic_id=t.topic_id) for t in asked.body.topics or []]
    )


def _offset_commit(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
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


def _offset_fetch(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    group = response.OffsetFetchResponseGroup
    answer = response(error_code=code, groups=[group(group_id=g.group_id, error_code=code) for g in asked.body.groups])
    if asked.header.api_version < _OFFSET_FETCH_TOP_LEVEL_FROM:
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


def _find_coordinator(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    coordinator = response.Coordinator
    if asked.header.api_version < _COORDINATORS_BATCHED_FROM:
        return response(error_code=code, error_message=message, node_id=-1, port=-1)
    return response(
        coordinators=[
            coordinator(key=key, node_id=-1, port=-1, error_code=code, error_message=message)
            for key in asked.body.coordinator_keys
        ],
    )


def _describe_groups(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    group = response.DescribedGroup
    return response(groups=[group(group_id=name, error_code=code) for name in asked.body.groups])


def _delete_groups(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    result = response.DeletableGroupResult
    return response(results=[result(group_id=name, error_code=code) for name in asked.body.groups_names])


def _create_topics(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    result = response.CreatableTopicResult
    return response(
        topics=[result(name=t.name, error_code=code, error_message=message) for t in unhurried(asked.body.topics)]
    )


def _delete_topics(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    result = response.DeletableTopicResult
    by_name = [result(name=name, error_code=code, error_message=message) for name in unhurried(asked.body.topic_names)]
    by_state = [
        result(name=t.name, topic_id=t.topic_id, error_code=code, error_message=message)
        for t in unhurried(asked.body.topics)
    ]
    return response(responses=by_name + by_state)


def _create_partitions(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    result = response.CreatePartitionsTopicResult
    return response(
        results=[result(name=t.name, error_code=code, error_message=message) for t in unhurried(asked.body.topics)]
    )


def _delete_records(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
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
            for t in asked.body.topics
        ]
    )


def _offset_for_leader_epoch(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.OffsetForLeaderTopicResult, response.EpochEndOffset
    return response(
        topics=[
            topic(
                topic=t.topic,
                partitions=[partition(partition=p.partition, error_code=code) for p in t.partitions],
            )
            for t in asked.body.topics
        ]
    )


def _alter_replica_log_dirs(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.AlterReplicaLogDirTopicResult, response.AlterReplicaLogDirPartitionResult
    return response(
        results=[
            topic(
                topic_name=each.name,
                partitions=[partition(partition_index=number, error_code=code) for number in each.partitions],
            )
            for directory in asked.body.dirs
            for each in directory.topics
        ]
    )


def _describe_configs(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    result = response.DescribeConfigsResult
    return response(
        results=[
            result(
                error_code=code,
                error_message=message,
                resource_type=r.resource_type,
                resource_name=r.resource_name,
            )
            for r in asked.body.resources
        ]
    )


def _alter_configs(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    result = response.AlterConfigsResourceResponse
    return response(
        responses=[
            result(
                error_code=code,
                error_message=message,
                resource_type=r.resource_type,
                resource_name=r.resource_name,
            )
            for r in unhurried(asked.body.resources)
        ]
    )


def _describe_topic_partitions(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic = response.DescribeTopicPartitionsResponseTopic
    return response(topics=[topic(error_code=code, name=t.name) for t in asked.body.topics])


def _create_acls(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    result = response.AclCreationResult
    return response(results=[result(error_code=code, error_message=message) for _ in asked.body.creations])


def _delete_acls(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    result = response.DeleteAclsFilterResult
    return response(filter_results=[result(error_code=code, error_message=message) for _ in asked.body.filters])


def _elect_leaders(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.ReplicaElectionResult, response.PartitionResult
    return response(
        error_code=code if asked.header.api_version >= _ELECT_LEADERS_TOP_LEVEL_FROM else 0,
        replica_election_results=[
            topic(
                topic=t.topic,
                partition_result=[
                    partition(partition_id=number, error_code=code, error_message=message) for number in t.partitions
                ],
            )
            for t in asked.body.topic_partitions or []
        ],
    )


def _alter_partition_reassignments(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.ReassignableTopicResponse, response.ReassignablePartitionResponse
    return response(
        error_code=code,
        error_message=message,
        responses=[
            topic(
                name=t.name,
                partitions=[
                    partition(partition_index=p.partition_index, error_code=code, error_message=message)
                    for p in t.partitions
                ],
            )
            for t in asked.body.topics
        ],
    )


def _alter_user_scram_credentials(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    result = response.AlterUserScramCredentialsResult
    users = dict.fromkeys(each.name for each in (*asked.body.deletions, *asked.body.upsertions))
    return response(results=[result(user=user, error_code=code, error_message=message) for user in users])


def _alter_client_quotas(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    return response(
        entries=[
            response.EntryData(
                error_code=code,
                error_message=message,
                entity=[
                    response.EntityData(entity_type=part.entity_type, entity_name=part.entity_name)
                    for part in entry.entity
                ],
            )
            for entry in asked.body.entries
        ]
    )


def _describe_client_quotas(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    return response(error_code=code, error_message=message, entries=None)


def _create_delegation_token(asked: ApiRequest, response: type[Any], code: int, message: str | None) -> Any:
    # Kafka puts ANONYMOUS for owner and requester where a request fails before they are looked at.
    requester = ANONYMOUS if asked.header.api_version >= _TOKEN_NAMES_REQUESTER_FROM else KafkaPrincipal("", "")
    return response(
        error_code=code,
        principal_type=ANONYMOUS.type,
        principal_name=ANONYMOUS.name,
        token_requester_principal_type=requester.type,
        token_requester_principal_name=requester.name,
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )


_SHAPES: dict[int, Shape] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.LEADER_AND_ISR: _leader_and_isr,
    ApiKey.INIT_PRODUCER_ID: _init_producer_id,
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
    ApiKey.CREATE_ACLS: _create_acls,
    ApiKey.ALTER_CLIENT_QUOTAS: _alter_client_quotas,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _describe_client_quotas,
    ApiKey.DELETE_ACLS: _delete_acls,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_user_scram_credentials,
    ApiKey.CREATE_DELEGATION_TOKEN: _create_delegation_token,
    ApiKey.ALTER_REPLICA_LOG_DIRS: _alter_replica_log_dirs,
    ApiKey.DESCRIBE_CONFIGS: _describe_configs,
    ApiKey.ALTER_CONFIGS: _alter_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _alter_configs,
    ApiKey.ELECT_LEADERS: _elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _alter_partition_reassignments,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: _describe_topic_partitions,
}
