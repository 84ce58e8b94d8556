"""Rebalances: start, join phase, sync phase, and session timeouts.

Join phase: the group waits for its members up to the rebalance timeout (its first rebalance: at least
`group.initial.rebalance.delay.ms`, longer while new members join); then members that have not joined are removed, but
not static members (KIP-345). Sync phase: the members of the new generation must send SyncGroup within the rebalance
timeout. Sessions: a member without requests for its session timeout is removed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.decision import Decision, nothing
from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.classic_records import empty_group_record
from signalbox.coordinator.group.classic.member import Member
from signalbox.coordinator.group.classic.membership_responses import UNKNOWN_MEMBER_ID, joined, rejected_join
from signalbox.coordinator.group.classic.states import GroupState
from signalbox.coordinator.ports import Timer
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.sync_group import SyncGroupResponse

logger = logging.getLogger(__name__)


class Rebalance:
    """Rebalances of all groups of a shard. Methods that may end a generation return a decision with its records."""

    def __init__(self, timer: Timer, settings: GroupSettings) -> None:
        self._timer = timer
        self._settings = settings

    # --- sessions

    def watch_session(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        """Start the session timeout of the member: `timeout_ms` from now."""
        self._timer.schedule(
            ("session", group.group_id, member_id), timeout_ms, lambda: self._session_expired(group, member_id)
        )

    def reset_session_timeout(self, group: ClassicGroup, member: Member) -> None:
        self.watch_session(group, member.member_id, member.timeouts.session_timeout_ms)

    def forget_session(self, group: ClassicGroup, member_id: str) -> None:
        self._timer.cancel(("session", group.group_id, member_id))

    def _session_expired(self, group: ClassicGroup, member_id: str) -> Decision[None]:
        if group.state is GroupState.DEAD:
            return nothing()
        if member_id in group.pending_join:
            group.remove(member_id)
            return self.complete_unless_initial(group)
        member = group.members.get(member_id)
        if member is None or member.outlives_its_session():
            return nothing()
        logger.info("group %s: member %s removed, its session expired", group.group_id, member_id)
        self.remove_member(group, member)
        return self.after_removal(group)

    # --- removal of members

    def remove_member(self, group: ClassicGroup, member: Member) -> None:
        """Remove a member. Its parked requests get UNKNOWN_MEMBER_ID, so that a live client rejoins."""
        self.forget_session(group, member.member_id)
        group.complete_join(member, rejected_join(UNKNOWN_MEMBER_ID, Error.UNKNOWN_MEMBER_ID))
        member.complete_sync(SyncGroupResponse(error_code=Error.UNKNOWN_MEMBER_ID))
        group.remove(member.member_id)

    def after_removal(self, group: ClassicGroup) -> Decision[None]:
        """After members were removed: start a rebalance, or end the join phase if all others have joined."""
        if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            return self.prepare(group)
        return self.complete_unless_initial(group)

    # --- join phase

    def begin_or_complete(self, group: ClassicGroup) -> Decision[None]:
        """After a join: start a rebalance, or end the current join phase if all members have joined."""
        return self.prepare(group) if group.can_rebalance else self.complete_unless_initial(group)

    def prepare(self, group: ClassicGroup) -> Decision[None]:
        """Start a rebalance: members that wait for an assignment must rejoin."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            group.clear_assignments()
            self.propagate_assignment(group, Error.REBALANCE_IN_PROGRESS)
        group.pending_sync.clear()
        self._timer.cancel(("sync", group.group_id))
        initial = group.state is GroupState.EMPTY
        group.transition_to(GroupState.PREPARING_REBALANCE)
        logger.info("group %s: rebalance of generation %d begins", group.group_id, group.generation_id)
        if initial:
            group.new_member_added = False
            delay_ms = self._settings.initial_rebalance_delay_ms
            self._wait_for_more(group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
            return nothing()
        if group.all_joined:
            return self.complete(group)
        self._wait_for_join(group, group.rebalance_timeout_ms, lambda: self.complete(group))
        return nothing()

    def _wait_for_join(self, group: ClassicGroup, delay_ms: int, decide: Callable[[], Decision[None]]) -> None:
        def decide_if_still_preparing() -> Decision[None]:
            return decide() if group.state is GroupState.PREPARING_REBALANCE else nothing()

        self._timer.schedule(("join", group.group_id), delay_ms, decide_if_still_preparing)

    def _wait_for_more(self, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        """The first rebalance of a group: if a member has joined during a delay, another delay follows, up to the
        rebalance timeout."""

        def pause_over() -> Decision[None]:
            if not group.new_member_added or not remaining_ms:
                return self.complete(group)
            group.new_member_added = False
            next_delay_ms = min(self._settings.initial_rebalance_delay_ms, remaining_ms)
            self._wait_for_more(group, next_delay_ms, max(remaining_ms - delay_ms, 0))
            return nothing()

        self._wait_for_join(group, delay_ms, pause_over)

    def complete_unless_initial(self, group: ClassicGroup) -> Decision[None]:
        if group.previous_state is GroupState.EMPTY:
            return nothing()
        return self.complete_if_all_joined(group)

    def complete_if_all_joined(self, group: ClassicGroup) -> Decision[None]:
        if group.state is GroupState.PREPARING_REBALANCE and group.all_joined:
            return self.complete(group)
        return nothing()

    def complete(self, group: ClassicGroup) -> Decision[None]:
        """End the join phase: remove dynamic members that have not joined, start a generation, send responses."""
        self._timer.cancel(("join", group.group_id))
        missing = [m for m in group.members.values() if m.awaiting_join is None and not m.is_static]
        for member in missing:
            self.remove_member(group, member)
        if group.members and not group.elect_joined_leader():
            # Only static members are left and none has joined: wait until they join or their sessions expire.
            self._wait_for_join(group, group.rebalance_timeout_ms, lambda: self.complete(group))
            return nothing()
        group.next_generation()
        if group.state is GroupState.EMPTY:
            logger.info("group %s: empty with generation %d", group.group_id, group.generation_id)
            return Decision(None, [empty_group_record(group)], replayed=False)
        self._complete_joins(group)
        return nothing()

    def _complete_joins(self, group: ClassicGroup) -> None:
        logger.info(
            "group %s: stabilized (generation=%d, members=%d)", group.group_id, group.generation_id, len(group.members)
        )
        for member in list(group.members.values()):
            group.complete_join(member, joined(group, member, with_members=group.is_leader(member.member_id)))
            self.reset_session_timeout(group, member)
            member.is_new = False
            group.pending_sync.add(member.member_id)
        generation_id = group.generation_id
        self._timer.schedule(
            ("sync", group.group_id), group.rebalance_timeout_ms, lambda: self._sync_expired(group, generation_id)
        )

    # --- sync phase

    def has_synced(self, group: ClassicGroup, member_id: str) -> None:
        group.pending_sync.discard(member_id)
        if not group.pending_sync:
            self._timer.cancel(("sync", group.group_id))

    def _sync_expired(self, group: ClassicGroup, generation_id: int) -> Decision[None]:
        """Remove members that have not sent SyncGroup; the others rebalance."""
        if generation_id != group.generation_id or not group.pending_sync:
            return nothing()
        if group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
            return nothing()
        for member_id in list(group.pending_sync):
            self.forget_session(group, member_id)
            group.remove(member_id)
        return self.prepare(group)

    def propagate_assignment(self, group: ClassicGroup, error: Error = Error.NONE) -> None:
        """Complete every parked SyncGroup and restart those sessions: they could not expire while parked."""
        succeeded = error == Error.NONE
        for member in group.members.values():
            response = SyncGroupResponse(
                error_code=error,
                protocol_type=group.protocol_type if succeeded else None,
                protocol_name=group.protocol_name if succeeded else None,
                assignment=member.assignment,
            )
            if member.complete_sync(response):
                self.reset_session_timeout(group, member)
