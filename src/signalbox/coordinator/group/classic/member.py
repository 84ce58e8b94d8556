"""A member of a classic group: its ids, protocols, assignment and parked requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.group.client_context import ClientContext
from signalbox.protocol.messages.join_group import JoinGroupResponse
from signalbox.protocol.messages.sync_group import SyncGroupResponse

NO_ASSIGNMENT = b""


class Timeouts(NamedTuple):
    session_timeout_ms: int
    rebalance_timeout_ms: int


@dataclass(slots=True)
class Member:
    """`protocols` = (name, metadata) in the member's order of preference."""

    member_id: str
    group_instance_id: str | None
    client: ClientContext
    timeouts: Timeouts
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes = NO_ASSIGNMENT
    is_new: bool = False
    awaiting_join: Promise[JoinGroupResponse] | None = None
    awaiting_sync: Promise[SyncGroupResponse] | None = None

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def protocol_names(self) -> list[str]:
        return [name for name, _ in self.protocols]

    def metadata(self, protocol_name: str | None) -> bytes:
        """The member's metadata for one protocol. Raises ValueError if the member does not support it."""
        for name, metadata in self.protocols:
            if name == protocol_name:
                return metadata
        raise ValueError(f"member {self.member_id} does not support protocol {protocol_name}")

    def vote(self, candidates: set[str]) -> str:
        """The first of the member's protocols that is a candidate. Raises ValueError if none is."""
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise ValueError(f"member {self.member_id} supports none of {sorted(candidates)}")

    def outlives_its_session(self) -> bool:
        """Whether the member stays without heartbeats: a member whose request is parked cannot send one. Not so for a
        new member: its client may have disconnected and rejoined with another id, so its join has a timeout."""
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)

    def complete_sync(self, response: SyncGroupResponse) -> bool:
        """Complete the parked SyncGroup with `response`. Returns False if there is none."""
        if self.awaiting_sync is None:
            return False
        parked, self.awaiting_sync = self.awaiting_sync, None
        parked.complete(response)
        return True
