"""The cooperative sticky assignor (KIP-341, KIP-429): balanced, and with as few moved partitions as possible.

Every member keeps what it owns; partitions without an owner go to the members with the fewest; then single partitions
move from a member to one with at least two fewer, until there are none such. A partition that another member still owns
is left out of the assignment: its owner revokes it and rejoins, and the next rebalance assigns it. Of several members
that own a partition only the one with the newest generation counts: the others have missed that they lost it.
"""

from __future__ import annotations

from collections.abc import Iterable

from signalbox.client.group_consumer.member_subscription import (
    Assignment,
    Members,
    MemberSubscription,
    PartitionCounts,
)
from signalbox.common.ids import TopicPartition


def cooperative_sticky_assignment(partition_counts: PartitionCounts, members: Members) -> Assignment:
    """Partitions by member id, without those that another member has to revoke first."""
    balanced = sticky_assignment(partition_counts, members)
    owners = _newest_owners((partition, member) for member in members for partition in member.owned)
    return {
        member_id: frozenset(partition for partition in partitions if owners.get(partition, [member_id]) == [member_id])
        for member_id, partitions in balanced.items()
    }


def sticky_assignment(partition_counts: PartitionCounts, members: Members) -> dict[str, set[TopicPartition]]:
    """The balanced assignment, as if every member could be given any partition at once."""
    ordered = sorted(members, key=lambda row: row.order)
    subscribers = {
        topic: [member.member_id for member in ordered if topic in member.topics] for topic in sorted(partition_counts)
    }
    subscribers = {topic: ids for topic, ids in subscribers.items() if ids}
    assigned = _kept(partition_counts, members)
    held = {partition for partitions in assigned.values() for partition in partitions}
    free = [
        TopicPartition(topic, number)
        for topic in subscribers
        for number in range(partition_counts[topic])
        if TopicPartition(topic, number) not in held
    ]
    for partition in sorted(free, key=lambda row: len(subscribers[row.topic])):  # the least choice first; stable
        assigned[_least(subscribers[partition.topic], assigned)].add(partition)
    _balance(assigned, subscribers, held)
    return assigned


def _kept(partition_counts: PartitionCounts, members: Members) -> dict[str, set[TopicPartition]]:
    """What each member keeps: partitions that exist, that it still wants, and that no member owns with a newer
    generation. Of two members with the same claim and generation neither keeps the partition."""
    owners = _newest_owners(
        (partition, member)
        for member in members
        for partition in member.owned
        if partition.topic in member.topics and 0 <= partition.partition < partition_counts.get(partition.topic, 0)
    )
    kept: dict[str, set[TopicPartition]] = {member.member_id: set() for member in members}
    for partition, ids in owners.items():
        if len(ids) == 1:
            kept[ids[0]].add(partition)
    return kept


def _newest_owners(claims: Iterable[tuple[TopicPartition, MemberSubscription]]) -> dict[TopicPartition, list[str]]:
    """The members that own a partition with the newest generation, usually one."""
    newest: dict[TopicPartition, int] = {}
    owners: dict[TopicPartition, list[str]] = {}
    for partition, member in claims:
        if partition not in newest or member.generation > newest[partition]:
            newest[partition], owners[partition] = member.generation, [member.member_id]
        elif member.generation == newest[partition]:
            owners[partition].append(member.member_id)
    return owners


def _least(member_ids: list[str], assigned: dict[str, set[TopicPartition]]) -> str:
    return min(member_ids, key=lambda member_id: len(assigned[member_id]))


def _balance(
    assigned: dict[str, set[TopicPartition]], subscribers: dict[str, list[str]], held: set[TopicPartition]
) -> None:
    """Move partitions while a member has at least two more than another that may have one of them; those that no member
    owned (`held`) first. Each move lowers the sum of the squares of the loads, so this ends."""
    moved = True
    while moved:
        moved = False
        for member_id in sorted(assigned, key=lambda row: (-len(assigned[row]), row)):
            for partition in sorted(assigned[member_id], key=lambda row: (row not in held, row), reverse=True):
                receiver = _least(subscribers[partition.topic], assigned)
                if len(assigned[receiver]) + 1 < len(assigned[member_id]):
                    assigned[member_id].remove(partition)
                    assigned[receiver].add(partition)
                    moved = True
