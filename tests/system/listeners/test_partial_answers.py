"""A broker that is not the controller rejects the resources that the client may not access and forwards the rest (F6):
on real brokers, any of which returns the same response in the same order."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.protocol.error_table import Error, error_codes
from signalbox.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from signalbox.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from signalbox.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from signalbox.protocol.messages.create_partitions import CreatePartitionsRequest
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.delete_acls import DeleteAclsRequest
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.security.acl import AclOperation as Op
from tests.system.clusters import BROKERS, metric
from tests.system.guarded import Guarded, allow_at, ask, creation, known_everywhere, make_topic, set_user

pytestmark = [pytest.mark.timeout(240), pytest.mark.spec("F6")]

_REDIRECTED = "kafka_server_forwardingmanager_num_messages_redirected_count"
_PASSWORD = "erin-s3cret"
_FORBIDDEN = Error.TOPIC_AUTHORIZATION_FAILED


@pytest.fixture(scope="module")
def erin(guarded: Guarded) -> str:
    """A user with all rights on `erin-a`, all but describing and altering its configs on `erin-c`, and none on anything
    else."""
    set_user(guarded, "erin", _PASSWORD)
    given = {"erin-a": (Op.ALTER, Op.ALTER_CONFIGS, Op.CREATE, Op.DELETE), "erin-c": (Op.ALTER, Op.CREATE)}
    for topic, operations in given.items():
        for operation in operations:
            [made] = ask(guarded, 1, creation("erin", operation, topic)).results
            assert made.error_code == 0, made.error_message
        known_everywhere(guarded, "erin", topic, len(operations))
    return "erin"


def asked_as(cluster: Guarded, user: str, node_id: int, message: Any) -> tuple[Any, int]:
    """The response of exactly this broker, and the number of requests that it has forwarded for it."""
    before = metric(cluster, node_id, _REDIRECTED)
    answer = ask(cluster, node_id, message, user, _PASSWORD)
    return answer, int(metric(cluster, node_id, _REDIRECTED) - before)


def test_part_of_a_creation(guarded: Guarded, erin: str) -> None:
    topics = [
        CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        for name in ("erin-c", "others", "erin-a")
    ]
    follower = guarded.follower
    for node_id in BROKERS:
        answer, forwarded = asked_as(
            guarded, erin, node_id, CreateTopicsRequest(topics=topics, timeout_ms=5_000, validate_only=True)
        )
        assert [(each.name, each.error_code) for each in answer.topics] == [
            ("erin-c", 0),
            ("others", _FORBIDDEN),
            ("erin-a", 0),
        ]
        # Only users who may describe a topic's configs get its properties; either broker's response says so.
        assert [each.topic_config_error_code for each in answer.topics] == [_FORBIDDEN, 0, 0]
        assert [each.num_partitions for each in answer.topics] == [-1, -1, 1]
        if node_id == follower:
            assert forwarded == 1
    answer, forwarded = asked_as(guarded, erin, follower, CreateTopicsRequest(topics=[topics[1]]))
    assert ([each.error_code for each in answer.topics], forwarded) == ([_FORBIDDEN], 0)


def test_one_of_ten_thousand(guarded: Guarded, erin: str) -> None:
    names = [f"others-{number}" for number in range(9_999)]
    names.insert(7_000, "erin-a")
    topics = [CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names]
    body = CreateTopicsRequest(topics=topics, timeout_ms=5_000, validate_only=True)
    answer, forwarded = asked_as(guarded, erin, guarded.follower, body)
    assert [each.name for each in answer.topics] == names
    assert [each.name for each in answer.topics if each.error_code != _FORBIDDEN] == ["erin-a"]
    assert forwarded == 1


def test_part_of_a_change_of_configs_and_of_partitions(guarded: Guarded, erin: str) -> None:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    names = ("erin-c", "others", "erin-a")
    change = IncrementalAlterConfigsRequest(
        resources=[resource(resource_type=2, resource_name=name) for name in names], validate_only=True
    )
    more = CreatePartitionsRequest(
        topics=[CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=9, assignments=None) for name in names],
        timeout_ms=5_000,
        validate_only=True,
    )
    missing = Error.UNKNOWN_TOPIC_OR_PARTITION
    for node_id in BROKERS:
        altered, _ = asked_as(guarded, erin, node_id, change)
        assert [(each.resource_name, each.error_code) for each in altered.responses] == [
            ("erin-c", _FORBIDDEN),
            ("others", _FORBIDDEN),
            ("erin-a", missing),
        ]
        grown, _ = asked_as(guarded, erin, node_id, more)
        assert [(each.name, each.error_code) for each in grown.results] == [
            ("erin-c", missing),
            ("others", _FORBIDDEN),
            ("erin-a", missing),
        ]


def test_deletion_reveals_no_names(guarded: Guarded, erin: str) -> None:
    """By name and by id, of existing topics and of others: the same response as the controller's."""
    secret = make_topic(guarded, "secret")
    secret_id = topic_id(guarded, secret)
    state, unknown_id = DeleteTopicsRequest.DeleteTopicState, b"\x09" * 16
    body = DeleteTopicsRequest(
        topics=[
            state(name="no-such-topic"),
            state(name=secret),
            state(name="erin-a"),
            state(name=None, topic_id=secret_id),
            state(name=None, topic_id=unknown_id),
        ],
        timeout_ms=5_000,
    )
    for node_id in BROKERS:
        answer, forwarded = asked_as(guarded, erin, node_id, body)
        assert [(each.name, each.topic_id, each.error_code) for each in answer.responses] == [
            ("no-such-topic", bytes(16), _FORBIDDEN),
            (secret, bytes(16), _FORBIDDEN),
            ("erin-a", bytes(16), Error.UNKNOWN_TOPIC_OR_PARTITION),
            (None, secret_id, _FORBIDDEN),
            (None, unknown_id, Error.UNKNOWN_TOPIC_ID),
        ]
        if node_id == guarded.follower:
            assert forwarded == 1
    assert topic_id(guarded, secret) == secret_id


def topic_id(cluster: Guarded, name: str) -> bytes:
    named = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    return bytes(ask(cluster, 1, named).topics[0].topic_id)


@pytest.mark.parametrize(
    "message",
    [
        creation("erin", Op.ALL, "erin-a"),
        DeleteAclsRequest(filters=[DeleteAclsRequest.DeleteAclsFilter(operation=1, permission_type=1)]),
        AlterClientQuotasRequest(entries=[AlterClientQuotasRequest.EntryData()]),
        AlterUserScramCredentialsRequest(
            deletions=[AlterUserScramCredentialsRequest.ScramCredentialDeletion(name="admin", mechanism=1)]
        ),
        AlterPartitionReassignmentsRequest(),
        ListPartitionReassignmentsRequest(topics=None),
        ElectLeadersRequest(topic_partitions=None),
    ],
    ids=lambda message: type(message).__name__,
)
def test_who_lacks_a_right_on_the_cluster_is_not_forwarded(guarded: Guarded, erin: str, message: Any) -> None:
    answer, forwarded = asked_as(guarded, erin, guarded.follower, message)
    assert (set(error_codes(answer)), forwarded) == ({Error.CLUSTER_AUTHORIZATION_FAILED}, 0)


def test_a_right_that_was_just_given_counts_on_the_broker_that_is_asked(guarded: Guarded, erin: str) -> None:
    topic = CreateTopicsRequest.CreatableTopic(name="erin-new", num_partitions=1, replication_factor=1)
    body = CreateTopicsRequest(topics=[topic], timeout_ms=5_000, validate_only=True)
    answer, forwarded = asked_as(guarded, erin, guarded.follower, body)
    assert ([each.error_code for each in answer.topics], forwarded) == ([_FORBIDDEN], 0)
    allow_at(guarded, guarded.follower, erin, Op.CREATE, "erin-new")
    answer, forwarded = asked_as(guarded, erin, guarded.follower, body)
    assert ([each.error_code for each in answer.topics], forwarded) == ([0], 1)
