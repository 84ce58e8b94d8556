"""LeaveGroup 0–5: removes members at their request, several at a time from version 3 on (KIP-345).

An administrator removes static members by their instance id, without knowing the member id.
"""

from __future__ import annotations

import logging

from signalbox.coordinator.decision import Decision
from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.classic_groups import ClassicGroups
from signalbox.coordinator.group.classic.membership_responses import UNKNOWN_MEMBER_ID
from signalbox.coordinator.group.classic.rebalance import Rebalance
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse

logger = logging.getLogger(__name__)

BATCHED_FROM = 3


def leaving_members(request: LeaveGroupRequest, api_version: int) -> list[LeaveGroupRequest.MemberIdentity]:
    """The members that leave; before version 3 the request itself names a single member."""
    if api_version >= BATCHED_FROM:
        return request.members
    return [LeaveGroupRequest.MemberIdentity(member_id=request.member_id)]


def leave_response(responses: list[LeaveGroupResponse.MemberResponse], api_version: int) -> LeaveGroupResponse:
    """Before version 3 the member's error is in `error_code` of the response."""
    if api_version >= BATCHED_FROM:
        return LeaveGroupResponse(members=responses)
    return LeaveGroupResponse(error_code=responses[0].error_code)


class LeaveGroup:
    def __init__(self, groups: ClassicGroups, rebalance: Rebalance) -> None:
        self._groups = groups
        self._rebalance = rebalance

    def leave(self, request: LeaveGroupRequest, api_version: int) -> Decision[LeaveGroupResponse]:
        group = self._groups.get(request.group_id)
        members = leaving_members(request, api_version)
        if group is not None and group.state is GroupState.DEAD:
            return Decision(LeaveGroupResponse(error_code=Error.COORDINATOR_NOT_AVAILABLE))
        responses = [
            LeaveGroupResponse.MemberResponse(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                error_code=Error.UNKNOWN_MEMBER_ID if group is None else self._leave_one(group, member),
            )
            for member in members
        ]
        response = leave_response(responses, api_version)
        if group is None or all(response.error_code for response in responses):
            return Decision(response)
        after = self._after_leaving(group)
        return Decision(response, after.records, after.effects, after.on_failure, after.replayed)

    def _leave_one(self, group: ClassicGroup, leaving: LeaveGroupRequest.MemberIdentity) -> Error:
        member_id = leaving.member_id
        if member_id == UNKNOWN_MEMBER_ID:
            known = leaving.group_instance_id and group.static_member_id(leaving.group_instance_id)
            if not known:
                return Error.UNKNOWN_MEMBER_ID
            member_id = known
        elif member_id in group.pending_join:
            group.remove(member_id)
            self._rebalance.forget_session(group, member_id)
            return Error.NONE
        else:
            error = group.check_member(member_id, leaving.group_instance_id)
            if error is not Error.NONE:
                return error
        logger.info("group %s: member %s leaves (%s)", group.group_id, member_id, leaving.reason or "no reason given")
        self._rebalance.remove_member(group, group.members[member_id])
        return Error.NONE

    def _after_leaving(self, group: ClassicGroup) -> Decision[None]:
        if group.state is GroupState.PREPARING_REBALANCE:
            return self._rebalance.complete_unless_initial(group)
        return self._rebalance.after_removal(group)
