"""DescribeTopicPartitions: pages over topics, and a cursor that survives changes."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.handlers.topics.describe_topic_partitions import DescribeTopicPartitionsHandler
from signalbox.protocol import own_tags
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest
from signalbox.security.acl import AclOperation
from tests.broker.handler_requests import ALLOW_ALL, acl, cache_of, request_of, response_to, topic_id

pytestmark = pytest.mark.spec("D1")

TOPICS = {
    "a": {index: (1, [1]) for index in range(3)},
    "b": {0: (3, [3]), 1: (1, [1])},
    "c": {0: (1, [1])},
}


def ask(*names: str, cursor: tuple[str, int] | None = None, limit: int = 2000, **more: Any) -> Any:
    handler = DescribeTopicPartitionsHandler(
        cache_of(topics=more.get("topics", TOPICS)), more.get("authorizer", ALLOW_ALL), more.get("most", 2000)
    )
    body = DescribeTopicPartitionsRequest(
        topics=[DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
    )
    if cursor is not None:
        body.cursor = DescribeTopicPartitionsRequest.Cursor(topic_name=cursor[0], partition_index=cursor[1])
    return response_to(handler, request_of(body, 0))


def page(response: Any) -> tuple[list[tuple[str, list[int]]], tuple[str, int] | None]:
    cursor = response.next_cursor
    return (
        [(topic.name, [p.partition_index for p in topic.partitions]) for topic in response.topics],
        None if cursor is None else (cursor.topic_name, cursor.partition_index),
    )


def test_all_topics_in_the_order_of_their_names() -> None:
    assert page(ask()) == ([("a", [0, 1, 2]), ("b", [0, 1]), ("c", [0])], None)
    assert page(ask("c", "a", "c")) == ([("a", [0, 1, 2]), ("c", [0])], None)


@pytest.mark.parametrize(("limit", "most"), [(1, 2000), (2, 2000), (3, 2000), (4, 2000), (0, 2000), (-5, 2000), (9, 2)])
def test_page_after_page_gives_each_partition_once(limit: int, most: int) -> None:
    found: list[tuple[str, int]] = []
    cursor: tuple[str, int] | None = ("", 0)
    pages = 0
    while cursor is not None:
        topics, cursor = page(ask(cursor=cursor, limit=limit, most=most))
        size = sum(len(partitions) for _, partitions in topics)
        assert size <= max(1, min(limit, most))
        found += [(name, index) for name, partitions in topics for index in partitions]
        pages += 1
        assert pages < 10
    assert found == [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("c", 0)]


def test_a_topic_of_which_only_the_name_is_known() -> None:
    response = ask("torn", "a", topics={**TOPICS, "torn": {}})
    assert [(topic.name, topic.error_code) for topic in response.topics] == [
        ("a", Error.NONE),
        ("torn", Error.LEADER_NOT_AVAILABLE),
    ]


def test_cursors() -> None:
    assert page(ask(cursor=("b", 1))) == ([("b", [1]), ("c", [0])], None)
    assert page(ask(cursor=("aa", 1))) == ([("b", [0, 1]), ("c", [0])], None)  # topic deleted: the next one
    assert page(ask(cursor=("b", 7))) == ([("b", []), ("c", [0])], None)
    assert page(ask(cursor=("z", 0))) == ([], None)
    assert page(ask("a", "c", cursor=("b", 0))) == ([("c", [0])], None)
    described = acl(("alice", "DESCRIBE", "b"), ("alice", "DESCRIBE", "c"))
    assert page(ask(cursor=("a", 2), authorizer=described)) == ([("b", [0, 1]), ("c", [0])], None)  # no right any more
    assert [t.error_code for t in ask("a", cursor=("a", -1)).topics] == [Error.INVALID_REQUEST]


def test_unknown_and_forbidden_topics() -> None:
    response = ask("a", "nope")
    assert [(t.name, t.error_code) for t in response.topics] == [("a", 0), ("nope", Error.UNKNOWN_TOPIC_OR_PARTITION)]
    authorizer = acl(("alice", "READ", "a"))
    assert page(ask(authorizer=authorizer))[0] == [("a", [0, 1, 2])]
    forbidden = ask("a", "b", authorizer=authorizer).topics[1]
    assert (forbidden.name, forbidden.error_code, forbidden.partitions) == ("b", Error.TOPIC_AUTHORIZATION_FAILED, [])


def test_an_invalid_name_and_an_internal_topic_that_does_not_exist() -> None:
    internal, invalid = ask("a/b", "__consumer_offsets").topics
    assert (internal.error_code, internal.is_internal) == (Error.UNKNOWN_TOPIC_OR_PARTITION, True)
    assert (invalid.error_code, invalid.is_internal) == (Error.INVALID_TOPIC_EXCEPTION, False)


def test_a_leader_without_the_listener_is_none_and_no_error() -> None:
    """Kafka sets the code of a partition in Metadata only."""
    [topic] = ask("b").topics
    assert (topic.topic_id, topic.is_internal) == (topic_id("b"), False)
    assert [(p.error_code, p.leader_id) for p in topic.partitions] == [(0, -1), (0, 1)]
    assert (topic.partitions[0].eligible_leader_replicas, topic.partitions[0].last_known_elr) == ([], [])
    assert topic.topic_authorized_operations & 1 << 3


def test_the_fields_of_a_partition() -> None:
    [topic] = ask("a", topics={"a": {0: (1, [1, 2])}}).topics
    [partition] = topic.partitions
    assert (partition.leader_id, partition.leader_epoch) == (1, 5)
    assert (partition.replica_nodes, partition.isr_nodes, partition.offline_replicas) == ([1, 2], [1, 2], [])


def test_operations_are_those_of_the_topic_of_that_name() -> None:
    authorizer = acl(("alice", "DESCRIBE", "nope"), ("alice", "READ", "nope"), ("alice", "DESCRIBE", "a"))
    there, missing = ask("a", "nope", authorizer=authorizer).topics
    read, describe = 1 << AclOperation.READ, 1 << AclOperation.DESCRIBE
    assert there.topic_authorized_operations & (read | describe) == describe
    assert missing.topic_authorized_operations & (read | describe) == read | describe


@pytest.mark.spec("D3")
def test_a_partition_without_a_leader_has_a_reason() -> None:
    cache = cache_of(topics=TOPICS)
    offline = UpdateMetadataRequest.UpdateMetadataPartitionState(partition_index=0, leader=-1, leader_epoch=3)
    own_tags.put_offline_reason(offline, "broker 1 came back without its log")
    live = [
        UpdateMetadataRequest.UpdateMetadataBroker(id=1, endpoints=[UpdateMetadataRequest.UpdateMetadataEndpoint()])
    ]
    topic = UpdateMetadataRequest.UpdateMetadataTopicState(
        topic_name="a", topic_id=topic_id("a"), partition_states=[offline]
    )
    cache.apply_update_metadata(UpdateMetadataRequest(live_brokers=live, topic_states=[topic]))
    handler = DescribeTopicPartitionsHandler(cache, ALLOW_ALL, 2000)
    body = DescribeTopicPartitionsRequest(topics=[DescribeTopicPartitionsRequest.TopicRequest(name="a")])
    response = response_to(handler, request_of(body, 0))
    reasons = {each.partition_index: own_tags.offline_reason(each) for each in response.topics[0].partitions}
    assert reasons == {0: "broker 1 came back without its log", 1: "", 2: ""}
