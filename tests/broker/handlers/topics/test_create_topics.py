"""CreateTopics at a real controller: required rights, duplicate names, and the configs in the response."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.client_quotas import NO_THROTTLING
from signalbox.broker.handlers.topics.create_topics import CreateTopicsHandler
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of
from tests.broker.handlers.running_broker import RunningBroker

Topic = CreateTopicsRequest.CreatableTopic


def ask(running_broker: RunningBroker, *topics: Any, version: int = 7, authorizer: Any = ALLOW_ALL, **more: Any) -> Any:
    handler = CreateTopicsHandler(running_broker.components.controller, authorizer, NO_THROTTLING, 1)
    return running_broker.answer(
        handler, request_of(CreateTopicsRequest(topics=list(topics), timeout_ms=5000, **more), version)
    )


def found(response: Any) -> dict[str, int]:
    return {topic.name: topic.error_code for topic in response.topics}


def test_a_topic_with_its_configs(running_broker: RunningBroker) -> None:
    config = CreateTopicsRequest.CreatableTopicConfig(name="retention.ms", value="77")
    [topic] = ask(running_broker, Topic(name="c-1", num_partitions=2, replication_factor=1, configs=[config])).topics
    assert (topic.error_code, topic.num_partitions, topic.replication_factor) == (0, 2, 1)
    assert {c.name: c.value for c in topic.configs}["retention.ms"] == "77"
    assert topic.topic_id == running_broker.topic_id("c-1")


@pytest.mark.parametrize("version", range(2, 8))
def test_validate_only_creates_nothing(running_broker: RunningBroker, version: int) -> None:
    name = f"c-only-{version}"
    topic = Topic(name=name, num_partitions=1, replication_factor=1)
    assert found(ask(running_broker, topic, version=version, validate_only=True)) == {name: 0}
    assert name not in running_broker.components.cache.image.topics


def test_a_name_twice_spoils_that_name_alone(running_broker: RunningBroker) -> None:
    response = ask(
        running_broker, Topic(name="c-2"), Topic(name="c-3", num_partitions=1, replication_factor=1), Topic(name="c-2")
    )
    assert found(response) == {"c-2": Error.INVALID_REQUEST, "c-3": 0}
    assert len(response.topics) == 2


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (Topic(name="", num_partitions=1, replication_factor=1), Error.INVALID_TOPIC_EXCEPTION),
        (Topic(name="a/b", num_partitions=1, replication_factor=1), Error.INVALID_TOPIC_EXCEPTION),
        (Topic(name="..", num_partitions=1, replication_factor=1), Error.INVALID_TOPIC_EXCEPTION),
        (Topic(name="c-x", num_partitions=0, replication_factor=1), Error.INVALID_PARTITIONS),
        (Topic(name="c-x", num_partitions=-2, replication_factor=1), Error.INVALID_PARTITIONS),
        (Topic(name="c-x", num_partitions=1, replication_factor=0), Error.INVALID_REPLICATION_FACTOR),
        (Topic(name="c-x", num_partitions=1, replication_factor=9), Error.INVALID_REPLICATION_FACTOR),
        (
            Topic(name="c-x", configs=[CreateTopicsRequest.CreatableTopicConfig(name="retention.ms", value=None)]),
            Error.INVALID_CONFIG,
        ),
        (
            Topic(
                name="c-x",
                num_partitions=1,
                replication_factor=1,
                configs=[CreateTopicsRequest.CreatableTopicConfig(name="retention.ms", value="soon")],
            ),
            Error.INVALID_CONFIG,
        ),
        (
            Topic(
                name="c-x",
                num_partitions=1,
                assignments=[CreateTopicsRequest.CreatableReplicaAssignment(partition_index=0, broker_ids=[1])],
            ),
            Error.INVALID_REQUEST,
        ),
        (
            Topic(
                name="c-x",
                num_partitions=-1,
                replication_factor=-1,
                assignments=[CreateTopicsRequest.CreatableReplicaAssignment(partition_index=0, broker_ids=[1, 1])],
            ),
            Error.INVALID_REPLICA_ASSIGNMENT,
        ),
    ],
)
def test_topics_that_cannot_be(running_broker: RunningBroker, topic: Any, error: Error) -> None:
    [answered] = ask(running_broker, topic, validate_only=True).topics
    assert answered.error_code == error
    assert answered.error_message


def test_the_right_on_the_topic_or_on_the_cluster(running_broker: RunningBroker) -> None:
    topics = [Topic(name=name, num_partitions=1, replication_factor=1) for name in ("c-mine", "c-yours")]
    authorizer = acl(("alice", "CREATE", "c-mine"))
    response = ask(running_broker, *topics, authorizer=authorizer, validate_only=True)
    assert found(response) == {"c-yours": Error.TOPIC_AUTHORIZATION_FAILED, "c-mine": 0}
    response = ask(running_broker, *topics, authorizer=acl(("alice", "CREATE", "cluster")), validate_only=True)
    assert found(response) == {"c-yours": 0, "c-mine": 0}


@pytest.mark.spec("F6")
def test_responses_have_the_order_of_the_request(running_broker: RunningBroker) -> None:
    names = ["c-o4", "c-o1", "c-o3", "c-o1", "c-o2"]
    topics = [Topic(name=name, num_partitions=1, replication_factor=1) for name in names]
    authorizer = acl(("alice", "CREATE", "c-o4"), ("alice", "CREATE", "c-o2"), ("alice", "CREATE", "c-o1"))
    response = ask(running_broker, *topics, authorizer=authorizer, validate_only=True)
    assert [(topic.name, topic.error_code) for topic in response.topics] == [
        ("c-o4", 0),
        ("c-o1", Error.INVALID_REQUEST),
        ("c-o3", Error.TOPIC_AUTHORIZATION_FAILED),
        ("c-o2", 0),
    ]


def test_the_name_of_the_kraft_metadata_topic_is_rejected(running_broker: RunningBroker) -> None:
    topic = Topic(name="__cluster_metadata", num_partitions=1, replication_factor=1)
    assert found(ask(running_broker, topic)) == {"__cluster_metadata": Error.TOPIC_AUTHORIZATION_FAILED}


def test_configs_are_returned_only_with_describe_configs(running_broker: RunningBroker) -> None:
    topic = Topic(name="c-4", num_partitions=3, replication_factor=1)
    creator = ("alice", "CREATE", "c-4")
    [shown] = ask(
        running_broker, topic, authorizer=acl(creator, ("alice", "DESCRIBE_CONFIGS", "c-4")), validate_only=True
    ).topics
    [hidden] = ask(running_broker, topic, authorizer=acl(creator), validate_only=True).topics
    assert (shown.num_partitions, shown.topic_config_error_code, bool(shown.configs)) == (3, 0, True)
    assert (hidden.num_partitions, hidden.replication_factor, hidden.configs) == (-1, -1, None)
    assert (hidden.error_code, hidden.topic_config_error_code) == (0, Error.TOPIC_AUTHORIZATION_FAILED)


def test_nothing_asked(running_broker: RunningBroker) -> None:
    assert ask(running_broker).topics == []
