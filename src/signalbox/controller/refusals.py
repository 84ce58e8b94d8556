"""An answer that refuses a whole request, in the shape of its API: NOT_CONTROLLER, or a fault of ours.

One row per API that the controller decides; `dispatch.py` has the same rows, and a test holds the two equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signalbox.controller.token_control import refused_creation, refused_expiry, refused_renewal
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.message import Message
from signalbox.protocol.messages.allocate_producer_ids import AllocateProducerIdsResponse
from signalbox.protocol.messages.alter_client_quotas import AlterClientQuotasResponse
from signalbox.protocol.messages.alter_configs import AlterConfigsResponse
from signalbox.protocol.messages.alter_partition import AlterPartitionResponse
from signalbox.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsResponse
from signalbox.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsResponse
from signalbox.protocol.messages.controlled_shutdown import ControlledShutdownResponse
from signalbox.protocol.messages.create_acls import CreateAclsResponse
from signalbox.protocol.messages.create_partitions import CreatePartitionsResponse
from signalbox.protocol.messages.create_topics import CreateTopicsResponse
from signalbox.protocol.messages.delete_acls import DeleteAclsResponse
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from signalbox.protocol.messages.elect_leaders import ElectLeadersResponse
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsResponse
from signalbox.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsResponse
from signalbox.protocol.messages.update_features import UpdateFeaturesResponse


def refuse(api_key: int, request: Any, error: Error) -> Message:
    """The answer to `request` that says `error` wherever its API says errors."""
    return REFUSALS[ApiKey(api_key)](request, error)


def _create_topics(request: Any, error: Error) -> Message:
    result = CreateTopicsResponse.CreatableTopicResult
    names = dict.fromkeys(topic.name for topic in request.topics)
    return CreateTopicsResponse(
        topics=[result(name=name, error_code=error, error_message=error.message) for name in names]
    )


def _delete_topics(request: DeleteTopicsRequest, error: Error) -> Message:
    result = DeleteTopicsResponse.DeletableTopicResult
    by_name = [result(name=name, error_code=error, error_message=error.message) for name in request.topic_names]
    by_state = [
        result(name=topic.name, topic_id=topic.topic_id, error_code=error, error_message=error.message)
        for topic in request.topics
    ]
    return DeleteTopicsResponse(responses=by_state or by_name)


def _create_partitions(request: Any, error: Error) -> Message:
    result = CreatePartitionsResponse.CreatePartitionsTopicResult
    names = dict.fromkeys(topic.name for topic in request.topics)
    return CreatePartitionsResponse(
        results=[result(name=name, error_code=error, error_message=error.message) for name in names]
    )


def _alter_configs(request: Any, error: Error) -> Message:
    return AlterConfigsResponse(
        responses=[
            AlterConfigsResponse.AlterConfigsResourceResponse(
                error_code=error,
                error_message=error.message,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
            for each in request.resources
        ]
    )


def _incremental_alter_configs(request: Any, error: Error) -> Message:
    return IncrementalAlterConfigsResponse(
        responses=[
            IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
                error_code=error,
                error_message=error.message,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
            for each in request.resources
        ]
    )


def _create_acls(request: Any, error: Error) -> Message:
    result = CreateAclsResponse.AclCreationResult
    return CreateAclsResponse(
        results=[result(error_code=error, error_message=error.message) for _ in request.creations]
    )


def _delete_acls(request: Any, error: Error) -> Message:
    result = DeleteAclsResponse.DeleteAclsFilterResult
    return DeleteAclsResponse(
        filter_results=[result(error_code=error, error_message=error.message) for _ in request.filters]
    )


def _elect_leaders(request: Any, error: Error) -> Message:
    made, result = ElectLeadersResponse.ReplicaElectionResult, ElectLeadersResponse.PartitionResult
    return ElectLeadersResponse(
        error_code=error,
        replica_election_results=[
            made(
                topic=topic.topic,
                partition_result=[
                    result(partition_id=number, error_code=error, error_message=error.message)
                    for number in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
        ],
    )


def _alter_partition_reassignments(request: Any, error: Error) -> Message:
    made = AlterPartitionReassignmentsResponse
    return made(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=error,
        error_message=error.message,
        responses=[
            made.ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    made.ReassignablePartitionResponse(
                        partition_index=each.partition_index, error_code=error, error_message=error.message
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _alter_user_scram_credentials(request: Any, error: Error) -> Message:
    result = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
    users = dict.fromkeys(each.name for each in (*request.deletions, *request.upsertions))
    return AlterUserScramCredentialsResponse(
        results=[result(user=user, error_code=error, error_message=error.message) for user in users]
    )


def _alter_client_quotas(request: Any, error: Error) -> Message:
    made = AlterClientQuotasResponse
    return made(
        entries=[
            made.EntryData(
                error_code=error,
                error_message=error.message,
                entity=[
                    made.EntityData(entity_type=part.entity_type, entity_name=part.entity_name) for part in entry.entity
                ],
            )
            for entry in request.entries
        ]
    )


def _controlled_shutdown(request: Any, error: Error) -> Message:
    # The one API whose answer for "not the controller" has another number.
    told = Error.STALE_CONTROLLER_EPOCH if error is Error.NOT_CONTROLLER else error
    return ControlledShutdownResponse(error_code=told)


REFUSALS: dict[ApiKey, Callable[[Any, Error], Message]] = {
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.ALTER_CONFIGS: _alter_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _incremental_alter_configs,
    ApiKey.CREATE_ACLS: _create_acls,
    ApiKey.DELETE_ACLS: _delete_acls,
    ApiKey.ELECT_LEADERS: _elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _alter_partition_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: lambda request, error: ListPartitionReassignmentsResponse(
        error_code=error, error_message=error.message
    ),
    ApiKey.ALTER_CLIENT_QUOTAS: _alter_client_quotas,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_user_scram_credentials,
    ApiKey.UPDATE_FEATURES: lambda request, error: UpdateFeaturesResponse(
        error_code=error, error_message=error.message
    ),
    ApiKey.CREATE_DELEGATION_TOKEN: refused_creation,
    ApiKey.RENEW_DELEGATION_TOKEN: lambda request, error: refused_renewal(error),
    ApiKey.EXPIRE_DELEGATION_TOKEN: lambda request, error: refused_expiry(error),
    ApiKey.CONTROLLED_SHUTDOWN: _controlled_shutdown,
    ApiKey.ALTER_PARTITION: lambda request, error: AlterPartitionResponse(error_code=error),
    ApiKey.ALLOCATE_PRODUCER_IDS: lambda request, error: AllocateProducerIdsResponse(error_code=error),
}
