"""Short text with the resources of an admin request, for the audit trail."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.audit.audit_resources import first_error, named_resources
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from signalbox.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from signalbox.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from signalbox.protocol.messages.create_acls import CreateAclsRequest
from signalbox.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from signalbox.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.protocol.messages.delete_acls import DeleteAclsRequest
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from signalbox.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest


def topics(count: int) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=[CreateTopicsRequest.CreatableTopic(name=f"t{n}") for n in range(count)])


STATE = DeleteTopicsRequest.DeleteTopicState
DELETED = DeleteTopicsRequest(topic_names=["a"], topics=[STATE(name="b"), STATE(topic_id=b"\x0f" * 16)])
CHANGED = IncrementalAlterConfigsRequest(
    resources=[IncrementalAlterConfigsRequest.AlterConfigsResource(resource_type=2, resource_name="t")]
)

ELECTED = ElectLeadersRequest(
    topic_partitions=[ElectLeadersRequest.TopicPartitions(topic="t", partitions=[0, 2])],
)
MOVED = AlterPartitionReassignmentsRequest(
    topics=[
        AlterPartitionReassignmentsRequest.ReassignableTopic(
            name="t", partitions=[AlterPartitionReassignmentsRequest.ReassignablePartition(partition_index=3)]
        )
    ]
)


ACLS = CreateAclsRequest(
    creations=[CreateAclsRequest.AclCreation(resource_type=2, resource_name="t", principal="User:a")]
)
FILTER = DeleteAclsRequest.DeleteAclsFilter
FILTERS = DeleteAclsRequest(
    filters=[
        FILTER(resource_type_filter=2, resource_name_filter=None, principal_filter="User:a"),
        FILTER(resource_type_filter=99, resource_name_filter="t", principal_filter=None),
    ]
)


TOKEN = CreateDelegationTokenRequest(
    owner_principal_type="User",
    owner_principal_name="dora",
    renewers=[CreateDelegationTokenRequest.CreatableRenewers(principal_type="User", principal_name="bob")],
)


SCRAM = AlterUserScramCredentialsRequest(
    deletions=[AlterUserScramCredentialsRequest.ScramCredentialDeletion(name="carol")],
    upsertions=[
        AlterUserScramCredentialsRequest.ScramCredentialUpsertion(name=name, salt=b"s", salted_password=b"secret")
        for name in ("alice", "carol")
    ],
)


@pytest.mark.parametrize(
    ("key", "body", "named"),
    [
        (ApiKey.CREATE_TOPICS, topics(2), "t0,t1"),
        (ApiKey.CREATE_TOPICS, topics(0), ""),
        (ApiKey.DELETE_TOPICS, DELETED, f"a,b,{'0f' * 16}"),
        (ApiKey.CREATE_PARTITIONS, CreatePartitionsRequest(topics=[]), ""),
        (ApiKey.ELECT_LEADERS, ElectLeadersRequest(topic_partitions=None), "*"),
        (ApiKey.ELECT_LEADERS, ELECTED, "t-0,t-2"),
        (ApiKey.ALTER_PARTITION_REASSIGNMENTS, MOVED, "t-3"),
        (ApiKey.INCREMENTAL_ALTER_CONFIGS, CHANGED, "2:t"),
        (ApiKey.CONTROLLED_SHUTDOWN, ControlledShutdownRequest(broker_id=3), "broker 3"),
        (ApiKey.CREATE_ACLS, ACLS, "TOPIC:t User:a"),
        (ApiKey.DELETE_ACLS, FILTERS, "TOPIC:? User:a,UNKNOWN:t ?"),
        (ApiKey.ALTER_USER_SCRAM_CREDENTIALS, SCRAM, "carol,alice"),
        (ApiKey.CREATE_DELEGATION_TOKEN, TOKEN, "owner User:dora,renewer User:bob"),
        (ApiKey.CREATE_DELEGATION_TOKEN, CreateDelegationTokenRequest(), ""),
        (ApiKey.EXPIRE_DELEGATION_TOKEN, ExpireDelegationTokenRequest(hmac=b"secret"), ""),
        (ApiKey.METADATA, None, ""),
    ],
)
def test_names(key: ApiKey, body: Any, named: str) -> None:
    assert named_resources(key, body) == named


def test_only_the_first_twenty_are_named() -> None:
    assert named_resources(ApiKey.CREATE_TOPICS, topics(23)).endswith("t18,t19,+3")


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (CreateTopicsResponse(), ""),
        (
            CreateTopicsResponse(
                topics=[
                    CreateTopicsResponse.CreatableTopicResult(name="a"),
                    CreateTopicsResponse.CreatableTopicResult(name="b", error_code=Error.TOPIC_ALREADY_EXISTS),
                ]
            ),
            "TOPIC_ALREADY_EXISTS",
        ),
        (
            DeleteTopicsResponse(responses=[DeleteTopicsResponse.DeletableTopicResult(error_code=100)]),
            "UNKNOWN_TOPIC_ID",
        ),
        (
            CreatePartitionsResponse(results=[CreatePartitionsResponse.CreatePartitionsTopicResult(error_code=37)]),
            "INVALID_PARTITIONS",
        ),
        (
            ElectLeadersResponse(
                replica_election_results=[
                    ElectLeadersResponse.ReplicaElectionResult(
                        topic="t", partition_result=[ElectLeadersResponse.PartitionResult(error_code=84)]
                    )
                ]
            ),
            "ELECTION_NOT_NEEDED",
        ),
    ],
)
def test_the_first_error(response: Any, error: str) -> None:
    assert first_error(response) == error
