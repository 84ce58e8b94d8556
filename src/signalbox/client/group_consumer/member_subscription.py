"""What members of a group send each other: ConsumerProtocolSubscription in JoinGroup, ConsumerProtocolAssignment in
SyncGroup. The broker does not read them, so their bytes are a contract with the other clients in the group.

Version 1 has the owned partitions (KIP-429), 2 the generation, 3 the rack. For `cooperative-sticky` the user data is
the generation as int32, as in the Java client, whose members below version 2 have it only there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from signalbox.common.ids import TopicPartition, numbers_by_topic
from signalbox.protocol.messages.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription

NO_GENERATION = -1
_SUBSCRIPTION_VERSION = 3
_ASSIGNMENT_VERSION = 3
_GENERATION_FROM = 2
_VERSION_BYTES = 2
_INT32_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSubscription:
    """What one member wants and has. `generation`: in which `owned` was assigned, NO_GENERATION: unknown."""

    member_id: str
    topics: frozenset[str]
    group_instance_id: str | None = None
    owned: frozenset[TopicPartition] = frozenset()
    generation: int = NO_GENERATION
    rack: str | None = None

    @property
    def order(self) -> tuple[bool, str]:
        """The order of members in every assignor: static members first, by instance id, then the others by id."""
        return self.group_instance_id is None, self.group_instance_id or self.member_id


def encode_subscription(subscription: MemberSubscription) -> bytes:
    """The metadata of a JoinGroup protocol."""
    body = ConsumerProtocolSubscription(
        topics=sorted(subscription.topics),
        user_data=subscription.generation.to_bytes(_INT32_BYTES, "big", signed=True),
        owned_partitions=[
            ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in numbers_by_topic(subscription.owned).items()
        ],
        generation_id=subscription.generation,
        rack_id=subscription.rack,
    )
    return _SUBSCRIPTION_VERSION.to_bytes(_VERSION_BYTES, "big") + body.encode(_SUBSCRIPTION_VERSION)


def decode_subscription(member_id: str, group_instance_id: str | None, metadata: bytes) -> MemberSubscription:
    """The subscription of another member, of any client; ValueError when it is not readable."""
    version = _version_of(metadata, _SUBSCRIPTION_VERSION)
    body, _ = ConsumerProtocolSubscription.decode_prefix(metadata, version, _VERSION_BYTES)
    generation = body.generation_id
    user_data = body.user_data
    if version < _GENERATION_FROM and user_data is not None and len(user_data) == _INT32_BYTES:
        generation = int.from_bytes(user_data, "big", signed=True)
    return MemberSubscription(
        member_id=member_id,
        group_instance_id=group_instance_id,
        topics=frozenset(body.topics),
        owned=frozenset(
            TopicPartition(row.topic, number) for row in body.owned_partitions for number in row.partitions
        ),
        generation=generation,
        rack=body.rack_id,
    )


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """The assignment of one member in SyncGroup. Version 1, which every client reads."""
    body = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignment.TopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in numbers_by_topic(partitions).items()
        ]
    )
    return (1).to_bytes(_VERSION_BYTES, "big") + body.encode(1)


def decode_assignment(assignment: bytes) -> frozenset[TopicPartition]:
    """The partitions of this member; none when the bytes are empty. ValueError when they are not readable."""
    if not assignment:
        return frozenset()
    version = _version_of(assignment, _ASSIGNMENT_VERSION)
    body, _ = ConsumerProtocolAssignment.decode_prefix(assignment, version, _VERSION_BYTES)
    return frozenset(TopicPartition(row.topic, number) for row in body.assigned_partitions for number in row.partitions)


def _version_of(data: bytes, newest: int) -> int:
    if len(data) < _VERSION_BYTES:
        raise ValueError("metadata of a group member without a version")
    return min(int.from_bytes(data[:_VERSION_BYTES], "big"), newest)


PartitionCounts = Mapping[str, int]
Members = Sequence[MemberSubscription]
Assignment = dict[str, frozenset[TopicPartition]]
