"""The records of `__consumer_offsets`: builds, encodes and decodes them.

Kafka's own format, so that its tools (`kafka-dump-log --offsets-decoder`) and a Kafka coordinator can read them: a
record key is a version and an OffsetCommitKey (0, 1) or a GroupMetadataKey (2), a value is a version and the
matching value. They are written in the versions that Kafka writes: the newest that is not flexible (KIP-915), and
OffsetCommitValue 1 for requests that have a retention of their own (OffsetCommit 2 to 4).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from signalbox.coordinator.decision import CoordinatorRecord
from signalbox.coordinator.group.classic.classic_group import ClassicGroup
from signalbox.coordinator.group.classic.member import NO_ASSIGNMENT
from signalbox.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

_VERSION = struct.Struct(">h")
OFFSET_COMMIT_KEY_VERSION = 1
OFFSET_COMMIT_VALUE_VERSION = 3
OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRY = 1
GROUP_METADATA_KEY_VERSION = 2
GROUP_METADATA_VALUE_VERSION = 3

# Version of the key -> (class of the key, class of the value)
_KINDS: dict[int, tuple[Any, Any]] = {
    0: (OffsetCommitKey, OffsetCommitValue),
    1: (OffsetCommitKey, OffsetCommitValue),
    2: (GroupMetadataKey, GroupMetadataValue),
}


class GroupRecordSerde:
    """Encodes and decodes the records that a group shard writes and replays."""

    __slots__ = ()

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        key, value = record
        if isinstance(key, OffsetCommitKey):
            key_version, value_version = OFFSET_COMMIT_KEY_VERSION, OFFSET_COMMIT_VALUE_VERSION
            if value is not None and value.expire_timestamp != -1:
                value_version = OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRY
        else:
            key_version, value_version = GROUP_METADATA_KEY_VERSION, GROUP_METADATA_VALUE_VERSION
        key_bytes = _VERSION.pack(key_version) + key.encode(key_version)
        if value is None:
            return key_bytes, None
        return key_bytes, _VERSION.pack(value_version) + value.encode(value_version)

    def decode(self, key: bytes, value: bytes | None) -> CoordinatorRecord | None:
        """None for types that this release does not know. Raises DecodeError or struct.error for corrupt bytes."""
        (key_version,) = _VERSION.unpack_from(key)
        kind = _KINDS.get(key_version)
        if kind is None:
            return None
        key_class, value_class = kind
        decoded_key = key_class.decode(key, key_version, 2)
        if value is None:
            return CoordinatorRecord(decoded_key, None)
        (value_version,) = _VERSION.unpack_from(value)
        return CoordinatorRecord(decoded_key, value_class.decode(value, value_version, 2))


def group_record(group: ClassicGroup, assignment: Mapping[str, bytes]) -> CoordinatorRecord:
    """The group with its current generation; members that are not in `assignment` have an empty one."""
    members = [
        GroupMetadataValue.MemberMetadata(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client.client_id,
            client_host=member.client.client_host,
            rebalance_timeout=member.timeouts.rebalance_timeout_ms,
            session_timeout=member.timeouts.session_timeout_ms,
            subscription=member.metadata(group.protocol_name),
            assignment=assignment.get(member.member_id, NO_ASSIGNMENT),
        )
        for member in group.members.values()
    ]
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation_id,
        protocol=group.protocol_name,
        leader=group.leader_id,
        current_state_timestamp=-1 if group.state_timestamp_ms is None else group.state_timestamp_ms,
        members=members,
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value)


def empty_group_record(group: ClassicGroup) -> CoordinatorRecord:
    """The group without members; its offsets are kept."""
    return group_record(group, {})


def group_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(GroupMetadataKey(group=group_id), None)


def offset_record(group_id: str, topic: str, partition: int, value: OffsetCommitValue) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), value)


def offset_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), None)
