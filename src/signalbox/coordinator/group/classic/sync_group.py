"""SyncGroup 0–5: the leader sends the assignment, the other members wait for theirs.

The assignment is valid when it is committed; until then all members wait. Protocol type and name are checked if the
request has them (version ≥ 5, KIP-559).
"""

from __future__ import annotations

import logging

from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.decision import Decision, nothing
from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.classic_groups import ClassicGroups
from signalbox.coordinator.group.classic.classic_records import group_record
from signalbox.coordinator.group.classic.member import NO_ASSIGNMENT
from signalbox.coordinator.group.classic.membership_responses import rejected_sync
from signalbox.coordinator.group.classic.rebalance import Rebalance
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.coordinator.write_errors import client_error_for
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

logger = logging.getLogger(__name__)


class SyncGroup:
    def __init__(self, groups: ClassicGroups, rebalance: Rebalance) -> None:
        self._groups = groups
        self._rebalance = rebalance

    def sync(self, request: SyncGroupRequest, promise: Promise[SyncGroupResponse]) -> Decision[None]:
        """Completes `promise` with the response, now or when the assignment is committed."""
        group = self._groups.get(request.group_id)
        if group is None:
            promise.complete(rejected_sync(Error.UNKNOWN_MEMBER_ID))
            return nothing()
        error = self._check(group, request)
        if error is not Error.NONE:
            promise.complete(rejected_sync(error))
            return nothing()
        member = group.members[request.member_id]
        self._rebalance.has_synced(group, member.member_id)
        if group.state is GroupState.STABLE:
            promise.complete(
                SyncGroupResponse(
                    protocol_type=group.protocol_type,
                    protocol_name=group.protocol_name,
                    assignment=member.assignment,
                )
            )
            return nothing()
        # A member has one parked SyncGroup: the connection of an earlier one is closed.
        member.complete_sync(rejected_sync(Error.REBALANCE_IN_PROGRESS))
        member.awaiting_sync = promise
        if not group.is_leader(member.member_id):
            return nothing()
        return self._store(group, {one.member_id: bytes(one.assignment) for one in request.assignments})

    def _check(self, group: ClassicGroup, request: SyncGroupRequest) -> Error:
        if group.state is GroupState.DEAD:
            return Error.COORDINATOR_NOT_AVAILABLE
        error = group.check_member(request.member_id, request.group_instance_id)
        if error is not Error.NONE:
            return error
        if request.generation_id != group.generation_id:
            return Error.ILLEGAL_GENERATION
        if request.protocol_type not in (None, group.protocol_type):
            return Error.INCONSISTENT_GROUP_PROTOCOL
        if request.protocol_name not in (None, group.protocol_name):
            return Error.INCONSISTENT_GROUP_PROTOCOL
        return Error.REBALANCE_IN_PROGRESS if group.state is GroupState.PREPARING_REBALANCE else Error.NONE

    def _store(self, group: ClassicGroup, assignment: dict[str, bytes]) -> Decision[None]:
        generation_id = group.generation_id
        missing = group.members.keys() - assignment.keys()
        if missing:
            logger.warning(
                "Assignment without some members (group=%s, generation=%d): the leader assigned nothing to %s",
                group.group_id, generation_id, ", ".join(sorted(missing)),
            )  # fmt: skip

        def is_current() -> bool:
            """If a member joined or left while the record was being written, the assignment is obsolete."""
            return group.state is GroupState.COMPLETING_REBALANCE and group.generation_id == generation_id

        def assign() -> None:
            if is_current():
                for member in group.members.values():
                    member.assignment = assignment.get(member.member_id, NO_ASSIGNMENT)
                self._rebalance.propagate_assignment(group)
                group.transition_to(GroupState.STABLE)

        def start_again(error: Error) -> None:
            if is_current():
                group.clear_assignments()
                self._rebalance.propagate_assignment(group, client_error_for(error))
                self._rebalance.prepare(group)

        record = group_record(group, assignment)
        return Decision(None, [record], effects=[assign], on_failure=start_again, replayed=False)
