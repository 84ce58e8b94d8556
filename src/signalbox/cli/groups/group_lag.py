"""`signalbox group lag`: committed offset, end offset and lag of each partition, with the member that reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from signalbox.cli.connect import ask, show
from signalbox.cli.shell.listing import Listing
from signalbox.client.admin_apis.group_admin import GroupDescription, GroupMember
from signalbox.client.rejections import rejection_of
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError

if TYPE_CHECKING:
    from signalbox.client.admin import AdminClient

_CONSUMER = "consumer"
_DEAD = "Dead"


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """`committed` is None for an assigned partition without a commit, `end` for one that does not exist any more."""

    group: str
    partition: TopicPartition
    committed: int | None
    end: int | None
    member: GroupMember | None

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.end is None:
            return None
        return max(0, self.end - self.committed)


def lag(
    groups: Annotated[list[str] | None, typer.Argument(help="Groups (default: all consumer groups).")] = None,
) -> None:
    """Show how far consumer groups are behind the end of each partition."""
    rows = ask(lambda admin: _lags(admin, groups))
    listing = Listing("group", "topic", "partition", "committed", "end", "lag", "member", "client id", "host")
    for row in rows:
        member = row.member
        person = (member.member_id, member.client_id, member.client_host) if member else (None, None, None)
        listing.add(row.group, row.partition.topic, row.partition.partition, row.committed, row.end, row.lag, *person)
    show(listing)


async def _lags(admin: AdminClient, groups: list[str] | None) -> list[PartitionLag]:
    names = groups or [group.group_id for group in await admin.list_groups() if group.protocol_type in (_CONSUMER, "")]
    return [row for name in names for row in await lags_of(admin, name)]


async def lags_of(admin: AdminClient, group: str) -> list[PartitionLag]:
    """The lag of every partition that the group has committed or is assigned, by topic and partition."""
    from signalbox.client.admin_apis.offset_admin import LATEST

    committed = await admin.committed_offsets(group)
    described = await (describe_existing if committed else describe_listed)(admin, group)
    members = described.members if described is not None else []
    owners = {partition: member for member in members for partition in _assigned(member)}
    partitions = sorted({*committed, *owners})
    ends = await admin.list_offsets(await existing(admin, partitions), LATEST)
    return [
        PartitionLag(
            group,
            partition,
            committed[partition].offset if partition in committed else None,
            ends.get(partition),
            owners.get(partition),
        )
        for partition in partitions
    ]


async def describe_existing(admin: AdminClient, group: str) -> GroupDescription | None:
    """The group, None if it does not exist. Before Kafka 4.1 such a group was described as Dead. A group of another
    protocol than the classic one (KIP-848 and later, at Apache Kafka) has no members here: it is listed only."""
    try:
        described = await admin.describe_group(group)
    except KafkaError as rejection:
        if rejection.error is not Error.GROUP_ID_NOT_FOUND:
            raise
        listed = [each for each in await admin.list_groups() if each.group_id == group]
        return GroupDescription(group, listed[0].state, listed[0].type, "", -1, []) if listed else None
    return None if described.state == _DEAD else described


async def describe_listed(admin: AdminClient, group: str) -> GroupDescription:
    """As `describe_existing`; KafkaError if the group does not exist."""
    described = await describe_existing(admin, group)
    if described is None:
        raise rejection_of(Error.GROUP_ID_NOT_FOUND, f"group {group} does not exist")
    return described


async def existing(admin: AdminClient, partitions: list[TopicPartition]) -> list[TopicPartition]:
    """Those of the partitions that exist."""
    if not partitions:
        return []
    topics = await admin.describe_topics(sorted({partition.topic for partition in partitions}))
    return [
        partition
        for partition in partitions
        if partition.topic in topics and partition.partition in topics[partition.topic].partitions
    ]


def _assigned(member: GroupMember) -> frozenset[TopicPartition]:
    from signalbox.client.admin_apis.group_member_admin import assigned_partitions

    try:
        return assigned_partitions(member)
    except ValueError:  # not the assignment of a consumer
        return frozenset()
