"""OffsetCommit and OffsetDelete at a real coordinator: the response lists rejected and accepted topics together."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.groups.offset_commit import OffsetCommitHandler, OffsetDeleteHandler
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest
from signalbox.protocol.messages.offset_delete import OffsetDeleteRequest
from tests.broker.handler_requests import ALLOW_ALL, acl, request_of
from tests.broker.handlers.running_broker import RunningBroker

UNKNOWN = b"\7" * 16


@pytest.fixture(scope="module", autouse=True)
def coordinator(running_broker: RunningBroker) -> None:
    running_broker.open_coordinator()
    running_broker.create_topic("oc-a", 2)
    running_broker.create_topic("oc-b")


def topic(name: str, *partitions: int, topic_id: bytes = b"\0" * 16) -> Any:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition
    return OffsetCommitRequest.OffsetCommitRequestTopic(
        name=name,
        topic_id=topic_id,
        partitions=[partition(partition_index=index, committed_offset=5) for index in partitions],
    )


def commit(
    running_broker: RunningBroker, *topics: Any, version: int = 9, authorizer: Any = ALLOW_ALL, group: str = "g"
) -> Any:
    handler = OffsetCommitHandler(
        running_broker.components.data.coordinator, running_broker.components.cache, authorizer
    )
    body = OffsetCommitRequest(group_id=group, topics=list(topics))
    return running_broker.answer(handler, request_of(body, version))


def found(response: Any) -> set[tuple[str, int, int]]:
    return {(t.name, p.partition_index, p.error_code) for t in response.topics for p in t.partitions}


@pytest.mark.parametrize("version", range(2, 10))
def test_known_unknown_and_forbidden(running_broker: RunningBroker, version: int) -> None:
    authorizer = acl(("alice", "READ", "group:g"), ("alice", "READ", "oc-a"), ("alice", "READ", "oc-nope"))
    response = commit(
        running_broker,
        topic("oc-a", 0, 1, 7),
        topic("oc-b", 0),
        topic("oc-nope", 0),
        version=version,
        authorizer=authorizer,
    )
    assert found(response) == {
        ("oc-a", 0, 0),
        ("oc-a", 1, 0),
        ("oc-a", 7, Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("oc-b", 0, Error.TOPIC_AUTHORIZATION_FAILED),
        ("oc-nope", 0, Error.UNKNOWN_TOPIC_OR_PARTITION),
    }
    assert len(response.topics) == 3  # each topic appears once


def test_by_id_from_version_10(running_broker: RunningBroker) -> None:
    known, forbidden = running_broker.topic_id("oc-a"), running_broker.topic_id("oc-b")
    response = commit(
        running_broker,
        topic("", 0, 7, topic_id=known),
        topic("", 0, topic_id=UNKNOWN),
        topic("", 0),
        topic("", 0, topic_id=forbidden),
        version=10,
        authorizer=acl(("alice", "READ", "group:g"), ("alice", "READ", "oc-a")),
    )
    assert {(t.topic_id, p.partition_index, p.error_code) for t in response.topics for p in t.partitions} == {
        (known, 0, 0),
        (known, 7, Error.UNKNOWN_TOPIC_OR_PARTITION),
        (UNKNOWN, 0, Error.UNKNOWN_TOPIC_ID),
        (bytes(16), 0, Error.UNKNOWN_TOPIC_ID),
        (forbidden, 0, Error.TOPIC_AUTHORIZATION_FAILED),
    }


@pytest.mark.parametrize("version", range(2, 11))
def test_a_group_that_may_not_be_read(running_broker: RunningBroker, version: int) -> None:
    asked = topic("oc-a", 0, 1) if version < 10 else topic("", 0, 1, topic_id=running_broker.topic_id("oc-a"))
    response = commit(running_broker, asked, version=version, authorizer=acl(("alice", "READ", "oc-a")))
    codes = [p.error_code for t in response.topics for p in t.partitions]
    assert codes == [Error.GROUP_AUTHORIZATION_FAILED] * 2


def test_many_unknown_partitions_are_answered_quickly(running_broker: RunningBroker) -> None:
    response = commit(running_broker, topic("oc-nope", *range(20_000)))
    assert {code for _, _, code in found(response)} == {Error.UNKNOWN_TOPIC_OR_PARTITION}


def delete(running_broker: RunningBroker, *topics: str, authorizer: Any = ALLOW_ALL, group: str = "g") -> Any:
    asked, partition = OffsetDeleteRequest.OffsetDeleteRequestTopic, OffsetDeleteRequest.OffsetDeleteRequestPartition
    body = OffsetDeleteRequest(
        group_id=group, topics=[asked(name=name, partitions=[partition(partition_index=0)]) for name in topics]
    )
    handler = OffsetDeleteHandler(
        running_broker.components.data.coordinator, running_broker.components.cache, authorizer
    )
    return running_broker.answer(handler, request_of(body, 0))


def test_offsets_are_deleted_topic_by_topic(running_broker: RunningBroker) -> None:
    commit(running_broker, topic("oc-a", 0), topic("oc-b", 0), group="od")
    authorizer = acl(*(("alice", *right) for right in (("DELETE", "group:od"), ("READ", "oc-a"), ("READ", "oc-x"))))
    response = delete(running_broker, "oc-a", "oc-b", "oc-x", authorizer=authorizer, group="od")
    assert response.error_code == 0
    assert found(response) == {
        ("oc-a", 0, 0),
        ("oc-b", 0, Error.TOPIC_AUTHORIZATION_FAILED),
        ("oc-x", 0, Error.UNKNOWN_TOPIC_OR_PARTITION),
    }


def test_deleting_needs_delete_on_the_group_and_the_group(running_broker: RunningBroker) -> None:
    assert delete(running_broker, "oc-a", authorizer=acl(("alice", "READ", "group:g"))).error_code == 30
    response = delete(running_broker, "oc-a", "oc-nope", group="never seen")
    assert (response.error_code, response.topics) == (Error.GROUP_ID_NOT_FOUND, [])
