"""`/brokers/topics/<topic>` in all its versions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signalbox.common.ids import ZERO_UUID, uuid_text
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.topic_assignment import ReplicaAssignment, TopicAssignment, decode_topic_assignment

ID = bytes(range(16))


def test_version_3_as_kafka_writes_it() -> None:
    assignment = TopicAssignment(ID, {0: (1, 2), 1: (2, 1)}, adding={0: (2,)})
    assert json.loads(assignment.encode()) == {
        "version": 3,
        "topic_id": uuid_text(ID),
        "partitions": {"0": [1, 2], "1": [2, 1]},
        "adding_replicas": {"0": [2]},
        "removing_replicas": {},
    }


def test_older_versions_and_any_order() -> None:
    one = decode_topic_assignment("t", b'{"version":1,"partitions":{"10":[1],"2":[3,1]}}')
    assert one == TopicAssignment(ZERO_UUID, {2: (3, 1), 10: (1,)})
    assert list(one.replicas) == [2, 10]
    assert "topic_id" not in json.loads(one.encode())


def test_kafkas_payload_is_kept_but_for_replicas_that_are_still_to_be_deleted() -> None:
    moved = TopicAssignment(ID, {0: (1, 2), 1: (1,)}).changed({0: ReplicaAssignment((3, 2))})
    assert json.loads(moved.encode())["removed_replicas"] == {"0": [1]}
    assert decode_topic_assignment("t", moved.encode()) == moved
    assert moved.without_removed([0, 1], 1) == TopicAssignment(ID, {0: (3, 2), 1: (1,)})
    assert moved.without_removed([0], 9) == moved
    assert moved.changed({0: ReplicaAssignment((1, 2))}).removed == {0: (3,)}, "1 is a replica again"


@pytest.mark.parametrize(
    ("now", "targets", "then"),
    [
        (((1, 2), (), ()), (3, 2), ((3, 2, 1), (3,), (1,))),
        (((1, 2), (), ()), (2, 1), ((2, 1), (), ())),
        (((1, 2), (), ()), (1, 2, 3), ((1, 2, 3), (3,), ())),
        (((1, 2), (), ()), (2,), ((2, 1), (), (1,))),
        (((3, 2, 1), (3,), (1,)), (4, 2), ((4, 2, 1), (4,), (1,))),
        (((3, 2, 1), (3,), (1,)), (2, 1), ((2, 1), (), ())),
    ],
)
def test_the_way_to_targets(now: Any, targets: Any, then: Any) -> None:
    moved = ReplicaAssignment(*now).towards(targets)
    assert moved == ReplicaAssignment(*then)
    assert (moved.targets, sorted(moved.originals)) == (targets, sorted(ReplicaAssignment(*now).originals))
    assert moved.is_moving == (set(targets) != set(ReplicaAssignment(*now).originals))


replicas = st.dictionaries(st.integers(0, 50), st.lists(st.integers(0, 9), min_size=1, max_size=4).map(tuple))


@given(replicas, replicas)
def test_round_trip(placed: dict[int, tuple[int, ...]], adding: dict[int, tuple[int, ...]]) -> None:
    assignment = TopicAssignment(ID, placed, adding)
    assert decode_topic_assignment("t", assignment.encode()) == assignment


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"{}",
        b'{"partitions":[1]}',
        b'{"partitions":{},"topic_id":"x"}',
        b'{"partitions":{"0":"12"}}',
        b'{"partitions":{"0":[-1]}}',
        b'{"partitions":{"0":[1,5000000000]}}',
        b'{"partitions":{"-1":[1]}}',
        b'{"partitions":{"zero":[1]}}',
        b'{"partitions":{"0":[1]},"adding_replicas":{"0":[true]}}',
    ],
)
def test_bad_payloads_are_named(data: bytes | None) -> None:
    with pytest.raises(BadEntry, match="/brokers/topics/t"):
        decode_topic_assignment("t", data)
