"""A member of a classic group: its ids, protocols, subscription, assignment and parked requests."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from signalbox.common.waiting.promise import Promise
from signalbox.protocol.messages.join_group import JoinGroupResponse
from signalbox.protocol.messages.sync_group import SyncGroupResponse

NO_ASSIGNMENT = b""
CONSUMER_PROTOCOL_TYPE = "consumer"


class ClientContext(NamedTuple):
    """The part of a request's context that the decisions of a group use. `client_host` as Kafka shows it in
    DescribeGroups: a slash and the address ("/127.0.0.1")."""

    client_id: str
    client_host: str
    api_version: int


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


def subscribed_topics(metadata: bytes) -> list[str]:
    """The topics to which a member of protocol type "consumer" subscribes. Raises ValueError if `metadata` is no
    consumer subscription.

    The consumer protocol belongs to the clients; the broker reads only what all its versions begin with: version, then
    the array of topic names. Offsets of subscribed topics do not expire (KIP-211) and cannot be deleted (OffsetDelete).
    """
    try:
        version, count = struct.unpack_from(">hi", metadata)
        if version < 0 or count < 0:
            raise ValueError("negative version or count in a consumer subscription")
        topics = []
        offset = 6
        for _ in range(count):
            (length,) = struct.unpack_from(">h", metadata, offset)
            offset += 2
            if length < 0 or offset + length > len(metadata):
                raise ValueError("a topic name reaches past the end of a consumer subscription")
            topics.append(metadata[offset : offset + length].decode())
            offset += length
    except struct.error as error:
        raise ValueError(f"not a consumer subscription: {error}") from None
    return topics
