"""Controller contexts for transcripts of decisions: `t={0: "1* 2 3 isr 1 2"}` means leader 1, ISR 1 and 2.

`t={0: "4 1* 2 isr 1 2 adding 4 removing 2"}` is being reassigned to 4 and 1; `removed 5`: 5 still has its replica.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from signalbox.common.ids import TopicPartition
from signalbox.controller.context import ControlledTopic, ControllerContext, LiveBroker, collision_name
from signalbox.controller.decision import Decision
from signalbox.controller.records import PartitionCreated, PartitionStateChanged
from signalbox.controller.replay import replay
from signalbox.metadata.entries.partition_state import NO_LEADER, PartitionState
from signalbox.metadata.entries.topic_assignment import TopicAssignment
from tests.controller.cluster import registration

EPOCH = 5  # controller epoch of all contexts here


def topic_id(name: str) -> bytes:
    """The id of a topic in these contexts."""
    return name.encode().ljust(16, b"-")


def tp(partition: int, topic: str = "t") -> TopicPartition:
    """A partition of topic t."""
    return TopicPartition(topic, partition)


def live(*broker_ids: int, racks: Mapping[int, str] | None = None) -> dict[int, LiveBroker]:
    """Brokers whose epoch is a hundred times their id."""
    return {each: LiveBroker(registration(each, (racks or {}).get(each)), each * 100) for each in broker_ids}


def listed(text: str, word: str) -> tuple[int, ...]:
    """The brokers after `word`."""
    found = re.search(rf"{word}((?: \d+)+)", text)
    return tuple(map(int, found[1].split())) if found else ()


def parse_partition(text: str) -> tuple[tuple[int, ...], PartitionState | None]:
    """Replicas and state of `1* 2 3 isr 1 2`. Without `isr` all are in sync; without a star there is no leader."""
    replicas, separator, isr = re.split(" adding| removing| removed", text)[0].partition("isr")
    pieces = replicas.split()
    brokers = tuple(int(piece.rstrip("*")) for piece in pieces)
    if "new" in isr:
        return brokers, None
    leader = next((int(piece[:-1]) for piece in pieces if piece.endswith("*")), NO_LEADER)
    members = tuple(map(int, isr.split())) if separator else brokers
    return brokers, PartitionState(leader, 7, members, EPOCH - 1, 3)


def make_context(
    *broker_ids: int, topics: Mapping[str, Mapping[int, str]] | None = None, **fields: Any
) -> ControllerContext:
    """A context of live brokers and topics."""
    made = {}
    for name, partitions in (topics or {}).items():
        parsed = {number: parse_partition(text) for number, text in partitions.items()}
        made[name] = ControlledTopic(
            name,
            TopicAssignment(
                topic_id(name),
                {number: replicas for number, (replicas, _) in parsed.items()},
                *(
                    {number: brokers for number, text in partitions.items() if (brokers := listed(text, word))}
                    for word in ("adding", "removing", "removed")
                ),
            ),
            {number: state for number, (_, state) in parsed.items() if state is not None},
        )
    defaults: dict[str, Any] = {
        "controller_id": 1,
        "controller_epoch": EPOCH,
        "brokers": live(*broker_ids),
        "topics": made,
        "topic_names": {topic_id(name): name for name in made},
        "collision_names": {collision_name(name): name for name in made},
        "configs": {f"topics/{name}": {} for name in made},
    }
    return ControllerContext(**{**defaults, **fields})


def placed(context: ControllerContext, number: int = 0, topic: str = "t") -> str:
    """Replicas as text: `4 1 2 adding 4 removing 2 removed 5`."""
    assignment = context.topics[topic].assignment
    parts = {"adding": assignment.adding, "removing": assignment.removing, "removed": assignment.removed}
    words = list(map(str, assignment.replicas[number]))
    for word, lists in parts.items():
        if number in lists:
            words += [word, *map(str, lists[number])]
    return " ".join(words)


def state_text(state: PartitionState | None) -> str:
    """A state as text: `leader/leader epoch/partition epoch isr`."""
    if state is None:
        return "none"
    return f"{state.leader}/{state.leader_epoch}/{state.partition_epoch} isr {' '.join(map(str, state.isr))}"


def states(decision: Decision) -> dict[str, str]:
    """The states that a decision gives to partitions, as text."""
    changes = (PartitionCreated, PartitionStateChanged)
    return {str(each.partition): state_text(each.state) for each in decision.records if isinstance(each, changes)}


def after(context: ControllerContext, decision: Decision) -> ControllerContext:
    """The context after the decision is stored."""
    return replay(context, decision.records)[0]
