"""Changes of metadata and the matching describe requests: brokers reject them before they forward, the controller when
it decides."""

from __future__ import annotations

from typing import Any

from signalbox.common.cooperative_task import yielding
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_builders import ErrorBuilder, FailedRequest

_ELECT_LEADERS_TOP_LEVEL_FROM = 1


def _create_topics(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    """Yields."""
    result = response.CreatableTopicResult
    return response(
        topics=[result(name=t.name, error_code=code, error_message=message) for t in yielding(request.body.topics)]
    )


def _delete_topics(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    """Yields."""
    result = response.DeletableTopicResult
    by_name = [result(name=name, error_code=code, error_message=message) for name in yielding(request.body.topic_names)]
    by_state = [
        result(name=t.name, topic_id=t.topic_id, error_code=code, error_message=message)
        for t in yielding(request.body.topics)
    ]
    return response(responses=by_name + by_state)


def _create_partitions(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    """Yields."""
    result = response.CreatePartitionsTopicResult
    return response(
        results=[result(name=t.name, error_code=code, error_message=message) for t in yielding(request.body.topics)]
    )


def _create_acls(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    result = response.AclCreationResult
    return response(results=[result(error_code=code, error_message=message) for _ in request.body.creations])


def _alter_client_quotas(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
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
            for entry in request.body.entries
        ]
    )


def _describe_client_quotas(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    return response(error_code=code, error_message=message, entries=None)


def _delete_acls(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    result = response.DeleteAclsFilterResult
    return response(filter_results=[result(error_code=code, error_message=message) for _ in request.body.filters])


def _alter_user_scram_credentials(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    result = response.AlterUserScramCredentialsResult
    users = dict.fromkeys(each.name for each in (*request.body.deletions, *request.body.upsertions))
    return response(results=[result(user=user, error_code=code, error_message=message) for user in users])


def _alter_replica_log_dirs(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.AlterReplicaLogDirTopicResult, response.AlterReplicaLogDirPartitionResult
    return response(
        results=[
            topic(
                topic_name=each.name,
                partitions=[partition(partition_index=number, error_code=code) for number in each.partitions],
            )
            for directory in request.body.dirs
            for each in directory.topics
        ]
    )


def _describe_configs(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    result = response.DescribeConfigsResult
    return response(
        results=[
            result(
                error_code=code,
                error_message=message,
                resource_type=r.resource_type,
                resource_name=r.resource_name,
            )
            for r in request.body.resources
        ]
    )


def _alter_configs(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    """Yields."""
    result = response.AlterConfigsResourceResponse
    return response(
        responses=[
            result(
                error_code=code,
                error_message=message,
                resource_type=r.resource_type,
                resource_name=r.resource_name,
            )
            for r in yielding(request.body.resources)
        ]
    )


def _elect_leaders(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.ReplicaElectionResult, response.PartitionResult
    return response(
        error_code=code if request.version >= _ELECT_LEADERS_TOP_LEVEL_FROM else 0,
        replica_election_results=[
            topic(
                topic=t.topic,
                partition_result=[
                    partition(partition_id=number, error_code=code, error_message=message) for number in t.partitions
                ],
            )
            for t in request.body.topic_partitions or []
        ],
    )


def _alter_partition_reassignments(request: FailedRequest, response: type[Any], code: int, message: str | None) -> Any:
    topic, partition = response.ReassignableTopicResponse, response.ReassignablePartitionResponse
    return response(
        allow_replication_factor_change=request.body.allow_replication_factor_change,
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
            for t in request.body.topics
        ],
    )


BUILDERS: dict[ApiKey, ErrorBuilder] = {
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.CREATE_ACLS: _create_acls,
    ApiKey.ALTER_CLIENT_QUOTAS: _alter_client_quotas,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _describe_client_quotas,
    ApiKey.DELETE_ACLS: _delete_acls,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_user_scram_credentials,
    ApiKey.ALTER_REPLICA_LOG_DIRS: _alter_replica_log_dirs,
    ApiKey.DESCRIBE_CONFIGS: _describe_configs,
    ApiKey.ALTER_CONFIGS: _alter_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _alter_configs,
    ApiKey.ELECT_LEADERS: _elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _alter_partition_reassignments,
}
