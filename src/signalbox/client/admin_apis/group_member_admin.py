"""What Kafka's tools change in a group: its members (LeaveGroup, KIP-345) and its committed offsets (OffsetDelete)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from signalbox.client.admin_apis.admin_call import AdminResult, result_of
from signalbox.client.admin_apis.group_admin import GroupAdmin, GroupMember
from signalbox.client.connection.connection import ClientConnection
from signalbox.client.failures import VersionUnsupported
from signalbox.client.group_consumer.member_subscription import decode_assignment
from signalbox.common.ids import TopicPartition, numbers_by_topic
from signalbox.protocol.messages.leave_group import LeaveGroupRequest
from signalbox.protocol.messages.offset_delete import OffsetDeleteRequest

_BATCHED_LEAVE_FROM = 3


class GroupMemberAdmin(GroupAdmin):
    async def remove_members(
        self,
        group_id: str,
        group_instance_ids: Sequence[str] | None = None,
        *,
        reason: str | None = None,
        timeout_ms: float | None = None,
    ) -> dict[str, AdminResult]:
        """Remove static members from a group, or all members; results by instance id, or by member id for the others.
        VersionUnsupported on brokers before Kafka 2.4; KafkaError when the group was rejected."""
        message_type = LeaveGroupRequest
        if group_instance_ids is not None:
            members = [
                message_type.MemberIdentity(member_id="", group_instance_id=name, reason=reason)
                for name in group_instance_ids
            ]
        else:
            described = await self.describe_group(group_id, timeout_ms=timeout_ms)
            members = [_identity(member, reason) for member in described.members]

        def build(connection: ClientConnection) -> Any:
            request = message_type(group_id=group_id, members=members)
            if connection.version_for(request) < _BATCHED_LEAVE_FROM:
                raise VersionUnsupported("the broker cannot remove other members from a group")
            return request

        async def attempt(node_id: int, remaining_ms: float) -> tuple[int, dict[str, AdminResult]]:
            response = await self._coordinator_asked(node_id, build, remaining_ms)
            rows = [(row.group_instance_id or row.member_id, row.error_code) for row in response.members]
            return response.error_code, {name: result_of(name, code, None) for name, code in rows}

        if not members:
            return {}
        results: dict[str, AdminResult] = await self._at_coordinator(group_id, attempt, timeout_ms)
        return results

    async def delete_committed_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, AdminResult]:
        """Delete what a group has committed for partitions of topics that no member is subscribed to; the result of
        each. KafkaError when the group was rejected."""
        message_type = OffsetDeleteRequest
        topics = [
            message_type.OffsetDeleteRequestTopic(
                name=topic,
                partitions=[message_type.OffsetDeleteRequestPartition(partition_index=number) for number in numbers],
            )
            for topic, numbers in numbers_by_topic(partitions).items()
        ]
        request = message_type(group_id=group_id, topics=topics)

        async def attempt(node_id: int, remaining_ms: float) -> tuple[int, dict[TopicPartition, AdminResult]]:
            response = await self._coordinator_asked(node_id, request, remaining_ms)
            rows = [
                (TopicPartition(topic.name, row.partition_index), row.error_code)
                for topic in response.topics
                for row in topic.partitions
            ]
            return response.error_code, {one: result_of(str(one), code, None) for one, code in rows}

        results: dict[TopicPartition, AdminResult] = await self._at_coordinator(group_id, attempt, timeout_ms)
        return results


def _identity(member: GroupMember, reason: str | None) -> Any:
    if member.group_instance_id is not None:
        return LeaveGroupRequest.MemberIdentity(member_id="", group_instance_id=member.group_instance_id, reason=reason)
    return LeaveGroupRequest.MemberIdentity(member_id=member.member_id, reason=reason)


def assigned_partitions(member: GroupMember) -> frozenset[TopicPartition]:
    """The partitions of a member of a consumer group; ValueError when its assignment is not readable."""
    return decode_assignment(member.assignment)
