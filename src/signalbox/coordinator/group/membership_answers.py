"""The answers of JoinGroup and SyncGroup, and what a JoinGroup says about its member."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signalbox.coordinator.group.member import Timeouts
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from signalbox.protocol.messages.sync_group import SyncGroupResponse

if TYPE_CHECKING:
    from signalbox.coordinator.group.classic_group import ClassicGroup
    from signalbox.coordinator.group.member import Member

UNKNOWN_MEMBER_ID = ""


def protocols_of(request: JoinGroupRequest) -> tuple[tuple[str, bytes], ...]:
    found: dict[str, bytes] = {}
    for protocol in request.protocols:
        found.setdefault(protocol.name, bytes(protocol.metadata))  # named twice it is still one vote
    return tuple(found.items())


def timeouts_of(request: JoinGroupRequest) -> Timeouts:
    """JoinGroup version 0 has no rebalance timeout: the session timeout stands for it."""
    rebalance_timeout_ms = request.rebalance_timeout_ms
    if rebalance_timeout_ms < 0:
        rebalance_timeout_ms = request.session_timeout_ms
    return Timeouts(request.session_timeout_ms, rebalance_timeout_ms)


def joined(
    group: ClassicGroup, member: Member, *, with_members: bool, skip_assignment: bool = False
) -> JoinGroupResponse:
    """The current generation, told to `member`; the leader gets the member list to assign from."""
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name or "",
        leader=group.leader_id or "",
        skip_assignment=skip_assignment,
        member_id=member.member_id,
        members=group.join_members() if with_members else [],
    )


def refused_join(member_id: str, error: Error) -> JoinGroupResponse:
    return JoinGroupResponse(member_id=member_id, error_code=error)


def refused_sync(error: Error) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error)
