"""A static member that rejoins without its member id replaces the old member (KIP-345).

The old member id is fenced at once. If the group is stable and its protocol stays the same, the new id is written to
the log and the member keeps its assignment. Otherwise the group rebalances.
"""

from __future__ import annotations

from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.decision import Decision
from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.classic_records import group_record
from signalbox.coordinator.group.classic.member import ClientContext, Member, Timeouts
from signalbox.coordinator.group.classic.membership_responses import (
    UNKNOWN_MEMBER_ID,
    joined,
    protocols_of,
    rejected_join,
    rejected_sync,
    timeouts_of,
)
from signalbox.coordinator.group.classic.rebalance import Rebalance
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.coordinator.write_errors import client_error_for
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse

SKIP_ASSIGNMENT_FROM = 9

Former = tuple[tuple[tuple[str, bytes], ...], Timeouts]
JoiningClient = tuple[ClientContext, Promise[JoinGroupResponse]]


class StaticMemberReturn:
    def __init__(self, rebalance: Rebalance) -> None:
        self._rebalance = rebalance

    def replace(
        self,
        group: ClassicGroup,
        old_member_id: str,
        new_member_id: str,
        request: JoinGroupRequest,
        joining: JoiningClient,
    ) -> Decision[None]:
        client, promise = joining
        former_leader_id = group.leader_id
        member = group.members[old_member_id]
        former = (member.protocols, member.timeouts)
        self._fence(group, member)
        group.replace_static(old_member_id, new_member_id)
        group.update(member, protocols_of(request), timeouts_of(request))
        group.await_join(member, promise)
        self._rebalance.forget_session(group, old_member_id)
        self._rebalance.reset_session_timeout(group, member)
        if group.state is GroupState.COMPLETING_REBALANCE:
            # The leader may be making an assignment for the old id.
            return self._rebalance.prepare(group)
        if group.state is not GroupState.STABLE or group.choose_protocol() != group.protocol_name:
            return self._rebalance.begin_or_complete(group)

        def is_waiting() -> bool:
            """False if completed meanwhile: replaced again, removed, or the partition was unloaded."""
            return member.awaiting_join is promise

        def complete() -> None:
            if is_waiting():
                self._complete(group, member, client.api_version, former_leader_id)

        def restore(error: Error) -> None:
            if is_waiting():
                self._restore_member(group, member, old_member_id, former)
                group.complete_join(member, rejected_join(UNKNOWN_MEMBER_ID, client_error_for(error)))

        assignment = {one.member_id: one.assignment for one in group.members.values()}
        record = group_record(group, assignment)
        return Decision(None, [record], effects=[complete], on_failure=restore, replayed=False)

    def _fence(self, group: ClassicGroup, member: Member) -> None:
        group.complete_join(member, rejected_join(member.member_id, Error.FENCED_INSTANCE_ID))
        member.complete_sync(rejected_sync(Error.FENCED_INSTANCE_ID))

    def _complete(self, group: ClassicGroup, member: Member, api_version: int, former_leader_id: str | None) -> None:
        leads = group.is_leader(member.member_id)
        if api_version >= SKIP_ASSIGNMENT_FROM:
            group.complete_join(member, joined(group, member, with_members=leads, skip_assignment=leads))
            return
        # An older client that is the leader would make a new assignment: the response names the old id as leader.
        response = joined(group, member, with_members=False)
        response.leader = former_leader_id or ""
        group.complete_join(member, response)

    def _restore_member(
        self,
        group: ClassicGroup,
        member: Member,
        old_member_id: str,
        former: Former,
    ) -> None:
        protocols, timeouts = former
        group.update(member, protocols, timeouts)
        self._rebalance.forget_session(group, member.member_id)
        group.replace_static(member.member_id, old_member_id)
        self._rebalance.reset_session_timeout(group, member)
