"""Builds responses to JoinGroup and SyncGroup, and reads a member's protocols and timeouts from a JoinGroup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signalbox.coordinator.group.classic.member import Timeouts
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from signalbox.protocol.messages.sync_group import SyncGroupResponse

if TYPE_CHECKING:
    from signalbox.coordinator.group.classic.classic_group import ClassicGroup
    from signalbox.coordinator.group.classic.member import Member

UNKNOWN_MEMBER_ID = ""
_NULL_PROTOCOL_NAME_FROM = 7


def protocols_of(request: JoinGroupRequest) -> tuple[tuple[str, bytes], ...]:
    found: dict[str, bytes] = {}
    for protocol in request.protocols:
        found.setdefault(protocol.name, bytes(protocol.metadata))  # a protocol that is named twice has one vote
    return tuple(found.items())


def timeouts_of(request: JoinGroupRequest) -> Timeouts:
    """JoinGroup version 0 has no rebalance timeout: the session timeout is used instead."""
    rebalance_timeout_ms = request.rebalance_timeout_ms
    if rebalance_timeout_ms < 0:
        rebalance_timeout_ms = request.session_timeout_ms
    return Timeouts(request.session_timeout_ms, rebalance_timeout_ms)


def joined(
    group: ClassicGroup, member: Member, *, with_members: bool, skip_assignment: bool = False
) -> JoinGroupResponse:
    """The response to `member` with the current generation; `with_members` adds the member list (leader)."""
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name or "",
        leader=group.leader_id or "",
        skip_assignment=skip_assignment,
        member_id=member.member_id,
        members=group.join_members() if with_members else [],
    )


def rejected_join(member_id: str, error: Error) -> JoinGroupResponse:
    return JoinGroupResponse(member_id=member_id, error_code=error)


def with_null_name(response: JoinGroupResponse, api_version: int) -> JoinGroupResponse:
    """An error response has no protocol name: null from version 7 on, as in Kafka."""
    if response.error_code and api_version >= _NULL_PROTOCOL_NAME_FROM and not response.protocol_name:
        response.protocol_name = None
    return response


def rejected_sync(error: Error) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error)
