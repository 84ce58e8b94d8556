"""The range assignor, and the table of assignors by the name that is sent in JoinGroup.

Range: per topic, the partitions in order are cut into as many ranges as the topic has members, the first ones longer by
one. Topics with equal numbers of partitions and members are assigned alike. Racks are not taken into account (KIP-881).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from signalbox.client.group_consumer.member_subscription import Assignment, Members, PartitionCounts
from signalbox.client.group_consumer.sticky_assignor import cooperative_sticky_assignment
from signalbox.common.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class Assignor:
    """`assign` is pure. `cooperative`: members keep their partitions during a rebalance (KIP-429)."""

    name: str
    cooperative: bool
    assign: Callable[[PartitionCounts, Members], Assignment]


def range_assignment(partition_counts: PartitionCounts, members: Members) -> Assignment:
    """Partitions by member id. Topics without an entry in `partition_counts` have no partitions."""
    assigned: dict[str, set[TopicPartition]] = {member.member_id: set() for member in members}
    for topic, count in sorted(partition_counts.items()):
        subscribers = sorted((member for member in members if topic in member.topics), key=lambda row: row.order)
        if not subscribers:
            continue
        length, longer = divmod(count, len(subscribers))
        first = 0
        for index, member in enumerate(subscribers):
            end = first + length + (index < longer)
            assigned[member.member_id].update(TopicPartition(topic, number) for number in range(first, end))
            first = end
    return {member_id: frozenset(partitions) for member_id, partitions in assigned.items()}


ASSIGNORS = {
    assignor.name: assignor
    for assignor in (
        Assignor("range", False, range_assignment),
        Assignor("cooperative-sticky", True, cooperative_sticky_assignment),
    )
}


def assignors_of(names: Iterable[str]) -> list[Assignor]:
    """The assignors of `partition.assignment.strategy`, in order of preference; ValueError names an unknown one."""
    unknown = [name for name in names if name not in ASSIGNORS]
    if unknown:
        raise ValueError(f"partition.assignment.strategy: {unknown[0]!r} is none of {', '.join(sorted(ASSIGNORS))}")
    return [ASSIGNORS[name] for name in names]
