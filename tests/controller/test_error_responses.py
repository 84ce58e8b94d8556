"""Every API of the controller has an error response of its own type."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.controller.dispatch import DECISIONS
from signalbox.controller.entities.token_control import TokenRequest
from signalbox.controller.error_responses import REJECTIONS, reject
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from signalbox.protocol.messages.alter_configs import AlterConfigsRequest
from signalbox.protocol.messages.alter_partition import AlterPartitionRequest
from signalbox.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from signalbox.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from signalbox.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from signalbox.protocol.messages.create_acls import CreateAclsRequest
from signalbox.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from signalbox.protocol.messages.create_partitions import CreatePartitionsRequest
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.delete_acls import DeleteAclsRequest
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest
from signalbox.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from signalbox.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from signalbox.security.principal import KafkaPrincipal

Creatable = CreateTopicsRequest.CreatableTopic
AlterResource, IncrementalResource = (
    AlterConfigsRequest.AlterConfigsResource,
    IncrementalAlterConfigsRequest.AlterConfigsResource,
)


def test_every_decision_has_a_rejection() -> None:
    assert set(DECISIONS) == set(REJECTIONS)


@pytest.mark.parametrize(
    ("api_key", "request_", "part", "count"),
    [
        (ApiKey.CREATE_TOPICS, CreateTopicsRequest(topics=[Creatable(name="a"), Creatable(name="b")]), "topics", 2),
        (ApiKey.DELETE_TOPICS, DeleteTopicsRequest(topic_names=["a"]), "responses", 1),
        (
            ApiKey.DELETE_TOPICS,
            DeleteTopicsRequest(topics=[DeleteTopicsRequest.DeleteTopicState(topic_id=b"i" * 16)]),
            "responses",
            1,
        ),
        (
            ApiKey.CREATE_PARTITIONS,
            CreatePartitionsRequest(topics=[CreatePartitionsRequest.CreatePartitionsTopic(name="a")]),
            "results",
            1,
        ),
        (ApiKey.ALTER_CONFIGS, AlterConfigsRequest(resources=[AlterResource(resource_name="a")]), "responses", 1),
        (
            ApiKey.INCREMENTAL_ALTER_CONFIGS,
            IncrementalAlterConfigsRequest(resources=[IncrementalResource(resource_name="a")]),
            "responses",
            1,
        ),
        (ApiKey.CREATE_ACLS, CreateAclsRequest(creations=[CreateAclsRequest.AclCreation()] * 2), "results", 2),
        (ApiKey.DELETE_ACLS, DeleteAclsRequest(filters=[DeleteAclsRequest.DeleteAclsFilter()]), "filter_results", 1),
        (
            ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
            AlterUserScramCredentialsRequest(
                deletions=[AlterUserScramCredentialsRequest.ScramCredentialDeletion(name="a")],
                upsertions=[AlterUserScramCredentialsRequest.ScramCredentialUpsertion(name=name) for name in "ab"],
            ),
            "results",
            2,
        ),
    ],
)
def test_per_resource(api_key: ApiKey, request_: Any, part: str, count: int) -> None:
    parts = getattr(reject(api_key, request_, Error.NOT_CONTROLLER), part)
    assert [each.error_code for each in parts] == [Error.NOT_CONTROLLER] * count


def test_a_message_replaces_kafkas_text() -> None:
    request = CreateTopicsRequest(topics=[Creatable(name="a")])
    for message, expected in (("the disk is full", "the disk is full"), (None, Error.KAFKA_STORAGE_ERROR.message)):
        rejection: Any = reject(ApiKey.CREATE_TOPICS, request, Error.KAFKA_STORAGE_ERROR, message)
        assert rejection.topics[0].error_message == expected


@pytest.mark.parametrize(
    ("api_key", "request_", "expected"),
    [
        (ApiKey.ALTER_PARTITION, AlterPartitionRequest(), Error.NOT_CONTROLLER),
        (ApiKey.LIST_PARTITION_REASSIGNMENTS, ListPartitionReassignmentsRequest(), Error.NOT_CONTROLLER),
        (ApiKey.ALLOCATE_PRODUCER_IDS, AllocateProducerIdsRequest(), Error.NOT_CONTROLLER),
        (ApiKey.CONTROLLED_SHUTDOWN, ControlledShutdownRequest(), Error.STALE_CONTROLLER_EPOCH),
    ],
)
def test_top_level(api_key: ApiKey, request_: Any, expected: Error) -> None:
    rejection: Any = reject(api_key, request_, Error.NOT_CONTROLLER)
    assert rejection.error_code == expected


def test_tokens() -> None:
    alice = KafkaPrincipal("User", "alice")
    for api_key, body in (
        (ApiKey.CREATE_DELEGATION_TOKEN, CreateDelegationTokenRequest()),
        (ApiKey.RENEW_DELEGATION_TOKEN, RenewDelegationTokenRequest()),
        (ApiKey.EXPIRE_DELEGATION_TOKEN, ExpireDelegationTokenRequest()),
    ):
        rejection: Any = reject(api_key, TokenRequest(alice, body), Error.NOT_CONTROLLER)
        assert (rejection.error_code, rejection.expiry_timestamp_ms) == (Error.NOT_CONTROLLER, -1)
    made: Any = reject(ApiKey.CREATE_DELEGATION_TOKEN, TokenRequest(alice, CreateDelegationTokenRequest()), Error.NONE)
    assert (made.principal_name, made.token_requester_principal_name) == ("alice", "alice")


def test_elections_and_reassignments_say_it_at_the_top_and_per_partition() -> None:
    election = ElectLeadersRequest.TopicPartitions(topic="a", partitions=[0, 1])
    elected: Any = reject(ApiKey.ELECT_LEADERS, ElectLeadersRequest(topic_partitions=[election]), Error.NOT_CONTROLLER)
    found = [each.error_code for each in elected.replica_election_results[0].partition_result]
    assert [elected.error_code, *found] == [Error.NOT_CONTROLLER] * 3
    everything: Any = reject(ApiKey.ELECT_LEADERS, ElectLeadersRequest(topic_partitions=None), Error.NOT_CONTROLLER)
    assert (everything.error_code, everything.replica_election_results) == (Error.NOT_CONTROLLER, [])
    made = AlterPartitionReassignmentsRequest
    wish = made.ReassignableTopic(name="a", partitions=[made.ReassignablePartition(partition_index=3)])
    rejected: Any = reject(ApiKey.ALTER_PARTITION_REASSIGNMENTS, made(topics=[wish]), Error.NOT_CONTROLLER)
    found = [each.error_code for each in rejected.responses[0].partitions]
    assert [rejected.error_code, *found] == [Error.NOT_CONTROLLER] * 2
