"""Heartbeat 0–4: renews a member's session; the response says whether the member must rejoin."""

from __future__ import annotations

from signalbox.coordinator.group.classic.classic_groups import ClassicGroups
from signalbox.coordinator.group.classic.rebalance import Rebalance
from signalbox.coordinator.group.classic.states import HEARTBEAT_ERRORS, GroupState
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.heartbeat import HeartbeatRequest


class Heartbeat:
    def __init__(self, groups: ClassicGroups, rebalance: Rebalance) -> None:
        self._groups = groups
        self._rebalance = rebalance

    def beat(self, request: HeartbeatRequest) -> Error:
        group = self._groups.get(request.group_id)
        if group is None:
            return Error.UNKNOWN_MEMBER_ID
        if group.state is GroupState.DEAD:
            return HEARTBEAT_ERRORS[group.state]
        error = group.check_member(request.member_id, request.group_instance_id)
        if error is not Error.NONE:
            return error
        if request.generation_id != group.generation_id:
            return Error.ILLEGAL_GENERATION
        self._rebalance.reset_session_timeout(group, group.members[request.member_id])
        return HEARTBEAT_ERRORS[group.state]
