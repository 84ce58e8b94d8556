"""JoinGroup 0–9: checks whether a client can join, gives it a member id, and starts or completes a rebalance.

A dynamic member without an id gets one and must rejoin with it (version ≥ 4, KIP-394). A static member without an id
replaces the member with the same instance id (KIP-345): if the group is stable and its protocol does not change, there
is no rebalance, and the response makes a leader skip the assignment (version ≥ 9, KIP-814).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.decision import Decision, nothing
from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.classic_groups import ClassicGroups
from signalbox.coordinator.group.classic.member import ClientContext, Member
from signalbox.coordinator.group.classic.membership_responses import (
    UNKNOWN_MEMBER_ID,
    joined,
    protocols_of,
    rejected_join,
    timeouts_of,
)
from signalbox.coordinator.group.classic.rebalance import Rebalance
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.coordinator.group.classic.static_member import StaticMemberReturn
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse

logger = logging.getLogger(__name__)

MEMBER_ID_REQUIRED_FROM = 4

JoinPromise = Promise[JoinGroupResponse]


class JoinGroup:
    """`new_suffix` makes the unique part of a member id."""

    def __init__(
        self, groups: ClassicGroups, rebalance: Rebalance, settings: GroupSettings, new_suffix: Callable[[], str]
    ) -> None:
        self._groups = groups
        self._rebalance = rebalance
        self._settings = settings
        self._new_suffix = new_suffix
        self._static_return = StaticMemberReturn(rebalance)

    def join(self, request: JoinGroupRequest, client: ClientContext, promise: JoinPromise) -> Decision[None]:
        """Completes `promise` with the response, now or when the join phase ends."""
        unknown = request.member_id == UNKNOWN_MEMBER_ID
        group = self._groups.get_or_create(request.group_id) if unknown else self._groups.get(request.group_id)
        if group is None:
            promise.complete(rejected_join(request.member_id, Error.UNKNOWN_MEMBER_ID))
            return nothing()
        if not self._has_room(group, request.member_id):
            group.remove(request.member_id)
            self._rebalance.forget_session(group, request.member_id)
            promise.complete(rejected_join(UNKNOWN_MEMBER_ID, Error.GROUP_MAX_SIZE_REACHED))
            return nothing()
        if not group.supports(request.protocol_type, [protocol.name for protocol in request.protocols]):
            promise.complete(rejected_join(request.member_id, Error.INCONSISTENT_GROUP_PROTOCOL))
            return nothing()
        if unknown:
            return self._join_new(group, request, client, promise)
        if request.member_id in group.pending_join:
            return self._join_pending(group, request, client, promise)
        return self._join_again(group, request, promise)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        """Whether `group.max.size` allows the member. In the join phase only members that have joined count, so that
        an oversized group rejects those that join last."""
        if group.state in (GroupState.EMPTY, GroupState.DEAD):
            return True
        member = group.members.get(member_id)
        if group.state is GroupState.PREPARING_REBALANCE:
            already_in = member is not None and member.awaiting_join is not None
            return already_in or group.awaiting_join_count < self._settings.max_size
        return member is not None or len(group.members) < self._settings.max_size

    def _join_new(
        self, group: ClassicGroup, request: JoinGroupRequest, client: ClientContext, promise: JoinPromise
    ) -> Decision[None]:
        instance_id = request.group_instance_id
        member_id = f"{client.client_id if instance_id is None else instance_id}-{self._new_suffix()}"
        if instance_id is not None:
            old_member_id = group.static_member_id(instance_id)
            if old_member_id is not None:
                return self._static_return.replace(group, old_member_id, member_id, request, (client, promise))
        elif client.api_version >= MEMBER_ID_REQUIRED_FROM:
            group.pending_join.add(member_id)
            self._rebalance.watch_session(group, member_id, request.session_timeout_ms)
            promise.complete(rejected_join(member_id, Error.MEMBER_ID_REQUIRED))
            return nothing()
        return self._add(group, member_id, request, client, promise)

    def _join_pending(
        self, group: ClassicGroup, request: JoinGroupRequest, client: ClientContext, promise: JoinPromise
    ) -> Decision[None]:
        """A member that rejoins with the id from MEMBER_ID_REQUIRED. Only dynamic members get an id this way."""
        if request.group_instance_id is not None:
            promise.complete(rejected_join(request.member_id, Error.UNKNOWN_MEMBER_ID))
            return nothing()
        return self._add(group, request.member_id, request, client, promise)

    def _add(
        self,
        group: ClassicGroup,
        member_id: str,
        request: JoinGroupRequest,
        client: ClientContext,
        promise: JoinPromise,
    ) -> Decision[None]:
        member = Member(
            member_id,
            request.group_instance_id,
            client,
            timeouts_of(request),
            request.protocol_type,
            protocols_of(request),
            is_new=True,
        )
        if group.state is GroupState.PREPARING_REBALANCE and group.previous_state is GroupState.EMPTY:
            group.new_member_added = True
        group.add(member, promise)
        # During a parked JoinGroup there are no heartbeats and the connection is muted: a client that disconnected
        # would stay in the group for ever. So the join of a new member has a timeout; a live client retries.
        self._rebalance.watch_session(group, member_id, self._settings.new_member_join_timeout_ms)
        logger.info("group %s: member %s joins (%s)", group.group_id, member_id, request.reason or "no reason given")
        return self._rebalance.begin_or_complete(group)

    def _join_again(self, group: ClassicGroup, request: JoinGroupRequest, promise: JoinPromise) -> Decision[None]:
        error = group.check_member(request.member_id, request.group_instance_id)
        if error is Error.NONE and group.state in (GroupState.EMPTY, GroupState.DEAD):
            error = Error.UNKNOWN_MEMBER_ID
        if error is not Error.NONE:
            promise.complete(rejected_join(request.member_id, error))
            return nothing()
        member = group.members[request.member_id]
        unchanged = member.protocols == protocols_of(request)
        leads = group.is_leader(member.member_id)
        if unchanged and group.state is GroupState.COMPLETING_REBALANCE:
            # It may not have received the first response: return the same generation.
            promise.complete(joined(group, member, with_members=leads))
            return nothing()
        if unchanged and group.state is GroupState.STABLE and not leads:
            promise.complete(joined(group, member, with_members=False))
            return nothing()
        # Changed metadata, a join phase in progress, or a leader that rejoins to trigger a rebalance.
        group.update(member, protocols_of(request), timeouts_of(request))
        group.await_join(member, promise)
        return self._rebalance.begin_or_complete(group)
