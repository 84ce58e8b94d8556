"""CreatePartitions at a real controller."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.client_quotas import NO_THROTTLING
from signalbox.broker.handlers.topics.create_partitions import CreatePartitionsHandler
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_partitions import CreatePartitionsRequest
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of
from tests.broker.handlers.running_broker import RunningBroker

Topic = CreatePartitionsRequest.CreatePartitionsTopic
Assignment = CreatePartitionsRequest.CreatePartitionsAssignment


def ask(
    running_broker: RunningBroker, *topics: Any, authorizer: Any = ALLOW_ALL, version: int = 3, **more: Any
) -> dict[str, int]:
    body = CreatePartitionsRequest(topics=list(topics), timeout_ms=5000, **more)
    handler = CreatePartitionsHandler(
        running_broker.components.controller, authorizer, NO_THROTTLING, running_broker.components.cache
    )
    return {
        result.name: result.error_code for result in running_broker.answer(handler, request_of(body, version)).results
    }


@pytest.mark.parametrize("version", range(4))
def test_more_partitions(running_broker: RunningBroker, version: int) -> None:
    name = f"p-{version}"
    running_broker.create_topic(name)
    assert ask(running_broker, Topic(name=name, count=3, assignments=None), version=version) == {name: 0}
    assert len(running_broker.components.cache.image.topics[name].partitions) == 3
    assert ask(running_broker, Topic(name=name, count=9, assignments=None), version=version, validate_only=True) == {
        name: 0
    }
    assert len(running_broker.components.cache.image.topics[name].partitions) == 3


@pytest.mark.parametrize(
    ("count", "assignments", "error"),
    [
        (2, None, Error.INVALID_PARTITIONS),
        (1, None, Error.INVALID_PARTITIONS),
        (0, None, Error.INVALID_PARTITIONS),
        (-1, None, Error.INVALID_PARTITIONS),
        (3, [Assignment(broker_ids=[7])], Error.INVALID_REPLICA_ASSIGNMENT),
        (3, [Assignment(broker_ids=[])], Error.INVALID_REPLICA_ASSIGNMENT),
        (3, [Assignment(broker_ids=[1]), Assignment(broker_ids=[1])], Error.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_counts_that_cannot_be(running_broker: RunningBroker, count: int, assignments: Any, error: Error) -> None:
    running_broker.create_topic("p-two", 2)
    assert ask(running_broker, Topic(name="p-two", count=count, assignments=assignments)) == {"p-two": error}


def test_unknown_twice_and_forbidden(running_broker: RunningBroker) -> None:
    running_broker.create_topic("p-mine")
    response = ask(
        running_broker,
        *(Topic(name=name, count=2, assignments=None) for name in ("p-nope", "p-mine", "p-mine", "p-yours")),
        authorizer=acl(("alice", "ALTER", "p-nope"), ("alice", "ALTER", "p-mine")),
    )
    assert response == {
        "p-nope": Error.UNKNOWN_TOPIC_OR_PARTITION,
        "p-mine": Error.INVALID_REQUEST,
        "p-yours": Error.TOPIC_AUTHORIZATION_FAILED,
    }
