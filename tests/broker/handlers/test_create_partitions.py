"""CreatePartitions at a real controller."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.create_partitions import CreatePartitionsHandler
from signalbox.broker.throttling import NO_THROTTLING
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_partitions import CreatePartitionsRequest
from tests.broker.asking import ALLOW_ALL, acl, request_of
from tests.broker.handlers.house import House

Topic = CreatePartitionsRequest.CreatePartitionsTopic
Assignment = CreatePartitionsRequest.CreatePartitionsAssignment


def ask(house: House, *topics: Any, authorizer: Any = ALLOW_ALL, version: int = 3, **more: Any) -> dict[str, int]:
    body = CreatePartitionsRequest(topics=list(topics), timeout_ms=5000, **more)
    handler = CreatePartitionsHandler(house.components.controller, authorizer, NO_THROTTLING, house.components.cache)
    return {result.name: result.error_code for result in house.answer(handler, request_of(body, version)).results}


@pytest.mark.parametrize("version", range(4))
def test_more_partitions(house: House, version: int) -> None:
    name = f"p-{version}"
    house.create_topic(name)
    assert ask(house, Topic(name=name, count=3, assignments=None), version=version) == {name: 0}
    assert len(house.components.cache.image.topics[name].partitions) == 3
    assert ask(house, Topic(name=name, count=9, assignments=None), version=version, validate_only=True) == {name: 0}
    assert len(house.components.cache.image.topics[name].partitions) == 3


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
def test_counts_that_cannot_be(house: House, count: int, assignments: Any, error: Error) -> None:
    house.create_topic("p-two", 2)
    assert ask(house, Topic(name="p-two", count=count, assignments=assignments)) == {"p-two": error}


def test_unknown_twice_and_forbidden(house: House) -> None:
    house.create_topic("p-mine")
    response = ask(
        house,
        *(Topic(name=name, count=2, assignments=None) for name in ("p-nope", "p-mine", "p-mine", "p-yours")),
        authorizer=acl(("alice", "ALTER", "p-nope"), ("alice", "ALTER", "p-mine")),
    )
    assert response == {
        "p-nope": Error.UNKNOWN_TOPIC_OR_PARTITION,
        "p-mine": Error.INVALID_REQUEST,
        "p-yours": Error.TOPIC_AUTHORIZATION_FAILED,
    }
