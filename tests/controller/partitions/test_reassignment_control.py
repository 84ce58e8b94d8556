"""AlterPartitionReassignments and ListPartitionReassignments: errors and responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from signalbox.common.limits import MAX_PARTITIONS_PER_REQUEST
from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision
from signalbox.controller.partitions.reassignment_control import (
    alter_partition_reassignments,
    list_partition_reassignments,
)
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from signalbox.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from tests.controller.cluster import inputs
from tests.controller.contexts import after, make_context, placed

CONTEXT = make_context(
    1, 2, 3, 4, 5,
    topics={
        "t": {0: "1* 2", 1: "3 1* 2 isr 1 2 adding 3 removing 2", 2: "4* 1 2 isr 4 adding 4 removing 2"},
        "u": {0: "1* 9 isr 1"},
        "going": {0: "3 1* isr 1 adding 3"},
    },
    deleting={"going": frozenset()}, shutting_down=frozenset({5}),
)  # fmt: skip


def decide(
    *wanted: tuple[str, int, Sequence[int] | None], context: ControllerContext = CONTEXT, **fields: Any
) -> Decision:
    made = AlterPartitionReassignmentsRequest
    topics: dict[str, list[Any]] = {}
    for name, number, replicas in wanted:
        given = None if replicas is None else list(replicas)
        topics.setdefault(name, []).append(made.ReassignablePartition(partition_index=number, replicas=given))
    request = made(
        topics=[made.ReassignableTopic(name=name, partitions=found) for name, found in topics.items()], **fields
    )
    return alter_partition_reassignments(context, inputs(), request)


def response_of(decision: Decision) -> AlterPartitionReassignmentsResponse:
    assert isinstance(decision.response, AlterPartitionReassignmentsResponse)
    return decision.response


def results(decision: Decision) -> list[tuple[str, int, Error]]:
    return [
        (topic.name, each.partition_index, Error.of(each.error_code))
        for topic in response_of(decision).responses
        for each in topic.partitions
    ]


@pytest.mark.parametrize(
    ("topic", "partition", "replicas", "error"),
    [
        ("none", 0, [1], Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 9, [1], Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("going", 0, [1], Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("going", 0, None, Error.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", 0, None, Error.NO_REASSIGNMENT_IN_PROGRESS),
        ("t", 0, [], Error.INVALID_REPLICA_ASSIGNMENT),
        ("t", 0, [1, 3, 1], Error.INVALID_REPLICA_ASSIGNMENT),
        ("t", 0, [1, -3], Error.INVALID_REPLICA_ASSIGNMENT),
        ("t", 0, [1, 9], Error.INVALID_REPLICA_ASSIGNMENT),  # not registered
        ("t", 0, [1, 5], Error.INVALID_REPLICA_ASSIGNMENT),  # shutting down
        ("t", 2, None, Error.INVALID_REPLICA_ASSIGNMENT),  # only the replica that would be removed is in sync
    ],
)
def test_rejections(topic: str, partition: int, replicas: Sequence[int] | None, error: Error) -> None:
    decision = decide((topic, partition, replicas))
    assert (results(decision), decision.records, decision.effects) == ([(topic, partition, error)], (), ())
    [result] = response_of(decision).responses[0].partitions
    assert result.error_message


def test_a_replica_that_is_away_may_stay() -> None:
    decision = decide(("u", 0, [9, 1, 2]))
    assert placed(after(CONTEXT, decision), 0, "u") == "9 1 2 adding 2"


def test_a_rejection_does_not_stop_the_others_and_the_last_wish_for_a_partition_counts() -> None:
    decision = decide(("t", 0, [9]), ("t", 1, None), ("u", 0, None), ("t", 0, [3, 2]))
    assert results(decision) == [
        ("t", 0, Error.NONE), ("t", 1, Error.NONE), ("u", 0, Error.NO_REASSIGNMENT_IN_PROGRESS),
    ]  # fmt: skip
    moved = after(CONTEXT, decision)
    assert placed(moved) == "3 2 1 adding 3 removing 1"
    assert placed(moved, 1) == "1 2 removed 3"
    assert (response_of(decision).error_code, response_of(decision).error_message) == (Error.NONE, None)
    assert len(decision.records) == 3, "the topic's assignment is written once"


def test_the_replication_factor_can_be_held() -> None:
    """Version 1 (KIP-860): compared with the replication factor at the end of the current reassignment."""
    wishes: Any = (("t", 0, [3]), ("t", 0, [3, 2]), ("t", 1, [4, 5, 1]), ("t", 1, [4, 1]))
    errors = [results(decide(wish, allow_replication_factor_change=False))[0][2] for wish in wishes]
    held = Error.INVALID_REPLICATION_FACTOR
    assert errors == [held, Error.NONE, Error.INVALID_REPLICA_ASSIGNMENT, Error.NONE]
    assert (
        response_of(decide(wishes[0], allow_replication_factor_change=False)).allow_replication_factor_change is False
    )


def test_a_request_for_too_much_is_rejected_as_a_whole() -> None:
    wishes: Any = [("t", number, [1]) for number in range(MAX_PARTITIONS_PER_REQUEST + 1)]
    decision = decide(*wishes)
    assert (response_of(decision).error_code, results(decision)) == (Error.POLICY_VIOLATION, [])


def listed(*asked: tuple[str, list[int]]) -> dict[str, list[tuple[int, list[int], list[int], list[int]]]]:
    made = ListPartitionReassignmentsRequest
    topics = [made.ListPartitionReassignmentsTopics(name=name, partition_indexes=numbers) for name, numbers in asked]
    response = list_partition_reassignments(CONTEXT, inputs(), made(topics=topics if asked else None)).response
    assert isinstance(response, ListPartitionReassignmentsResponse)
    return {
        topic.name: [
            (each.partition_index, each.replicas, each.adding_replicas, each.removing_replicas)
            for each in topic.partitions
        ]
        for topic in response.topics
    }


def test_what_moves_is_listed() -> None:
    first, second = (1, [3, 1, 2], [3], [2]), (2, [4, 1, 2], [4], [2])
    assert listed() == {"t": [first, second]}
    assert listed(("t", [0, 2, 7]), ("u", [0]), ("going", [0]), ("none", [0])) == {"t": [second]}
