"""A topic as one listener shows it: the table at the head of topic_view, version by version."""

from __future__ import annotations

import pytest

from signalbox.broker.topics.topic_view import TopicView
from signalbox.protocol.error_table import Error
from tests.broker.handler_requests import cache_of, topic_id

# Broker 3 lacks CLIENT, broker 9 is not alive.
CACHE = cache_of(
    topics={
        "t": {0: (1, [1, 2]), 1: (3, [3, 1]), 2: (9, [9]), 3: (-1, [2]), 4: (2, [2, 3])},
        "__consumer_offsets": {0: (1, [1])},
    }
)


@pytest.mark.spec("L10")
@pytest.mark.parametrize(
    ("version", "codes"),
    [
        (
            13,
            [Error.NONE, Error.LISTENER_NOT_FOUND, Error.LEADER_NOT_AVAILABLE, Error.LEADER_NOT_AVAILABLE, Error.NONE],
        ),
        (6, [Error.NONE, Error.LISTENER_NOT_FOUND, *[Error.LEADER_NOT_AVAILABLE] * 2, Error.NONE]),
        (5, [Error.NONE, *[Error.LEADER_NOT_AVAILABLE] * 3, Error.NONE]),
        (1, [Error.NONE, *[Error.LEADER_NOT_AVAILABLE] * 3, Error.NONE]),
        (0, [Error.NONE, *[Error.LEADER_NOT_AVAILABLE] * 3, Error.REPLICA_NOT_AVAILABLE]),
    ],
)
def test_errors_by_version(version: int, codes: list[Error]) -> None:
    topic = TopicView(CACHE.image, "CLIENT", version).topic(CACHE.image.topics["t"])
    assert [partition.error_code for partition in topic.partitions] == codes
    assert [partition.leader_id for partition in topic.partitions] == [1, -1, -1, -1, 2]
    assert {partition.leader_epoch for partition in topic.partitions} == {5}


def test_replicas_are_filtered_in_version_0_alone() -> None:
    old, new = (TopicView(CACHE.image, "CLIENT", v).topic(CACHE.image.topics["t"]).partitions[4] for v in (0, 1))
    assert (old.replica_nodes, old.isr_nodes) == ([2], [2])
    assert (new.replica_nodes, new.isr_nodes) == ([2, 3], [2, 3])


def test_another_listener_sees_another_cluster() -> None:
    topic = TopicView(CACHE.image, "REPLICATION", 13).topic(CACHE.image.topics["t"])
    assert [partition.error_code for partition in topic.partitions][:2] == [Error.NONE, Error.NONE]


def test_a_topic_of_which_only_the_name_is_known_may_have_leaders_later() -> None:
    image = cache_of(topics={"torn": {}}).image
    topic = TopicView(image, "CLIENT", 13).topic(image.topics["torn"])
    assert (topic.error_code, topic.partitions) == (Error.LEADER_NOT_AVAILABLE, [])


def test_the_topic_itself() -> None:
    view = TopicView(CACHE.image, "CLIENT", 13)
    topic, internal = view.topic(CACHE.image.topics["t"]), view.topic(CACHE.image.topics["__consumer_offsets"])
    assert (topic.name, topic.topic_id, topic.is_internal) == ("t", topic_id("t"), False)
    assert internal.is_internal
