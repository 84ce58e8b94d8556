"""A classic group: members, leader, generation, chosen protocol, state.

State only: members, parked requests, common protocols. `rebalance` decides when a rebalance starts and ends.
Rules: KIP-62 (rebalance timeout), KIP-345 (static members), KIP-394 (member id required before joining).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.decision import CoordinatorRecord
from signalbox.coordinator.group.classic.member import (
    CONSUMER_PROTOCOL_TYPE,
    NO_ASSIGNMENT,
    Member,
    Timeouts,
    subscribed_topics,
)
from signalbox.coordinator.group.classic.states import DELETE_ERRORS, TRANSITIONS, GroupState
from signalbox.coordinator.group.group import GroupType, SinceWhen
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.group_records import GroupMetadataKey
from signalbox.protocol.messages.join_group import JoinGroupResponse
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest


class ClassicGroup:
    """`now_ms` sets the state's timestamp at creation and at every transition (KIP-211 counts from it)."""

    group_type = GroupType.CLASSIC

    def __init__(self, group_id: str, now_ms: Callable[[], int]) -> None:
        self.group_id = group_id
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.pending_join: set[str] = set()
        self.pending_sync: set[str] = set()
        self.new_member_added = False
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.DEAD
        self.state_timestamp_ms: int | None = now_ms()
        self.subscribed: frozenset[str] | None = None
        self._now_ms = now_ms
        self._static_members: dict[str, str] = {}
        self._votes: Counter[str] = Counter()
        self._awaiting_join = 0

    # --- states

    def transition_to(self, state: GroupState) -> None:
        """Go to `state` if `TRANSITIONS` allows it; otherwise raises RuntimeError."""
        if state not in TRANSITIONS[self.state]:
            raise RuntimeError(f"group {self.group_id} cannot go from {self.state.value} to {state.value}")
        self.previous_state, self.state = self.state, state
        self.state_timestamp_ms = self._now_ms()

    def end(self) -> None:
        """The group is removed, its tombstone is committed."""
        self.transition_to(GroupState.DEAD)

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def is_dead(self) -> bool:
        return self.state is GroupState.DEAD

    @property
    def is_unused(self) -> bool:
        return self.state is GroupState.EMPTY and not self.pending_join

    @property
    def can_rebalance(self) -> bool:
        return GroupState.PREPARING_REBALANCE in TRANSITIONS[self.state]

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.timeouts.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def is_subscribed_to(self, topic: str) -> bool:
        """If the subscription is unknown: True for groups of consumers, False for other protocol types."""
        return self.uses_consumer_protocol if self.subscribed is None else topic in self.subscribed

    # --- members

    @property
    def awaiting_join_count(self) -> int:
        return self._awaiting_join

    @property
    def all_joined(self) -> bool:
        return len(self.members) == self._awaiting_join and not self.pending_join

    def is_leader(self, member_id: str) -> bool:
        return member_id == self.leader_id

    def static_member_id(self, group_instance_id: str) -> str | None:
        return self._static_members.get(group_instance_id)

    def add(self, member: Member, promise: Promise[JoinGroupResponse] | None = None) -> None:
        """Add a member; the first one sets the protocol type and becomes the leader."""
        if member.group_instance_id is not None:
            self._static_members[member.group_instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        self.leader_id = self.leader_id or member.member_id
        self.members[member.member_id] = member
        self._votes.update(member.protocol_names)
        self.pending_join.discard(member.member_id)
        self._park(member, promise)

    def update(self, member: Member, protocols: tuple[tuple[str, bytes], ...], timeouts: Timeouts) -> None:
        self._votes.subtract(member.protocol_names)
        member.protocols, member.timeouts = protocols, timeouts
        self._votes.update(member.protocol_names)

    def remove(self, member_id: str) -> Member | None:
        """Remove a member, joined or pending; if it was the leader, another member becomes the leader."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._votes.subtract(member.protocol_names)
            if member.awaiting_join is not None:
                self._awaiting_join -= 1
            if member.group_instance_id is not None:
                self._static_members.pop(member.group_instance_id, None)
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)
        self.pending_join.discard(member_id)
        self.pending_sync.discard(member_id)
        return member

    def replace_static(self, old_member_id: str, new_member_id: str) -> Member:
        """Give a static member a new id; everything else is unchanged. The caller must first respond to requests
        that are parked under the old id."""
        member = self.members.pop(old_member_id)
        assert member.group_instance_id is not None
        member.member_id = new_member_id
        self.members[new_member_id] = member
        self._static_members[member.group_instance_id] = new_member_id
        if self.leader_id == old_member_id:
            self.leader_id = new_member_id
        if old_member_id in self.pending_sync:
            self.pending_sync.discard(old_member_id)
            self.pending_sync.add(new_member_id)
        return member

    def check_member(self, member_id: str, group_instance_id: str | None) -> Error:
        """NONE for a member under its current id; FENCED_INSTANCE_ID for a static member that was replaced."""
        if group_instance_id is not None:
            current = self._static_members.get(group_instance_id)
            if current is None:
                return Error.UNKNOWN_MEMBER_ID
            if current != member_id:
                return Error.FENCED_INSTANCE_ID
        return Error.NONE if member_id in self.members else Error.UNKNOWN_MEMBER_ID

    # --- offsets and deletion

    def check_txn_offset_commit(self, request: TxnOffsetCommitRequest) -> Error:
        """A producer of an earlier version gives no member and generation; a rebalance does not reject it."""
        if self.state is GroupState.DEAD:
            return Error.COORDINATOR_NOT_AVAILABLE
        generation_id = request.generation_id_or_member_epoch
        if generation_id < 0 and not request.member_id and request.group_instance_id is None:
            return Error.NONE
        if generation_id < 0 and self.state is GroupState.EMPTY:
            return Error.NONE
        error = self.check_member(request.member_id, request.group_instance_id)
        if error is Error.NONE and generation_id != self.generation_id:
            return Error.ILLEGAL_GENERATION
        return error

    def check_offset_commit(self, request: OffsetCommitRequest) -> Error:
        generation_id = request.generation_id_or_member_epoch
        if self.state is GroupState.DEAD:
            return Error.COORDINATOR_NOT_AVAILABLE
        if generation_id < 0 and self.state is GroupState.EMPTY:
            return Error.NONE  # an administrator, or a client that is not a member
        if generation_id < 0 and not request.member_id and request.group_instance_id is None:
            return Error.UNKNOWN_MEMBER_ID  # only a member can commit to a group that is not empty
        error = self.check_member(request.member_id, request.group_instance_id)
        if error is not Error.NONE:
            return error
        if generation_id != self.generation_id:
            return Error.ILLEGAL_GENERATION
        # The member knows the new generation but has no assignment yet: it cannot have consumed anything in it.
        return Error.REBALANCE_IN_PROGRESS if self.state is GroupState.COMPLETING_REBALANCE else Error.NONE

    def check_deletion(self) -> Error:
        return DELETE_ERRORS[self.state]

    def check_offset_deletion(self) -> Error:
        if self.state is GroupState.DEAD:
            return Error.GROUP_ID_NOT_FOUND
        may_delete = self.state is GroupState.EMPTY or self.uses_consumer_protocol
        return Error.NONE if may_delete else Error.NON_EMPTY_GROUP

    def offsets_expire_since(self) -> SinceWhen | None:
        if self.protocol_type is None:
            return lambda offset: offset.commit_timestamp_ms
        if self.state is GroupState.EMPTY:
            empty_since_ms = self.state_timestamp_ms
            return lambda offset: offset.commit_timestamp_ms if empty_since_ms is None else empty_since_ms
        if self.state is GroupState.STABLE and self.uses_consumer_protocol and self.subscribed is not None:
            return lambda offset: offset.commit_timestamp_ms
        return None

    def tombstone(self) -> CoordinatorRecord:
        return CoordinatorRecord(GroupMetadataKey(group=self.group_id), None)

    # --- parked joins

    def await_join(self, member: Member, promise: Promise[JoinGroupResponse]) -> None:
        """Park a JoinGroup. An earlier parked request of this member gets REBALANCE_IN_PROGRESS; its connection is
        closed, because a client sends no second JoinGroup before the response to the first."""
        if member.awaiting_join is not None:
            self.complete_join(
                member, JoinGroupResponse(member_id=member.member_id, error_code=Error.REBALANCE_IN_PROGRESS)
            )
        self._park(member, promise)

    def complete_join(self, member: Member, response: JoinGroupResponse) -> bool:
        """Complete the parked JoinGroup with `response`. Returns False if there is none."""
        if member.awaiting_join is None:
            return False
        parked, member.awaiting_join = member.awaiting_join, None
        self._awaiting_join -= 1
        parked.complete(response)
        return True

    def _park(self, member: Member, promise: Promise[JoinGroupResponse] | None) -> None:
        member.awaiting_join = promise
        if promise is not None:
            self._awaiting_join += 1

    # --- generations

    def supports(self, protocol_type: str, protocol_names: list[str]) -> bool:
        """Whether a member with these protocols can join the group."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and bool(protocol_names)
        member_count = len(self.members)
        return protocol_type == self.protocol_type and any(self._votes[name] == member_count for name in protocol_names)

    def choose_protocol(self) -> str:
        """The protocol that most members prefer, of those that all members support."""
        candidates = {name for name, count in self._votes.items() if count == len(self.members)}
        return Counter(member.vote(candidates) for member in self.members.values()).most_common(1)[0][0]

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has rejoined, else take the first member that has; False if no member has."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].awaiting_join is not None:
            return True
        for member in self.members.values():
            if member.awaiting_join is not None:
                self.leader_id = member.member_id
                return True
        return False

    def next_generation(self) -> None:
        """Start the next generation with the current members; without members the group becomes empty."""
        self.generation_id += 1
        self.protocol_name = self.choose_protocol() if self.members else None
        self.subscribed = self.compute_subscribed()
        self.transition_to(GroupState.COMPLETING_REBALANCE if self.members else GroupState.EMPTY)
        self.pending_sync.clear()

    def compute_subscribed(self) -> frozenset[str] | None:
        """The topics to which any member subscribes; None if that is unknown."""
        if not self.uses_consumer_protocol:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        try:
            metadata = [member.metadata(self.protocol_name) for member in self.members.values()]
            return frozenset(topic for one in metadata for topic in subscribed_topics(one))
        except ValueError:
            return None

    def join_members(self) -> list[JoinGroupResponse.JoinGroupResponseMember]:
        """The member list for the leader, which makes the assignment."""
        return [
            JoinGroupResponse.JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata(self.protocol_name),
            )
            for member in self.members.values()
        ]

    def clear_assignments(self) -> None:
        for member in self.members.values():
            member.assignment = NO_ASSIGNMENT
