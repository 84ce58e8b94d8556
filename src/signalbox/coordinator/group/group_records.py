"""The records of `__consumer_offsets`: encodes and decodes them, and builds those of offsets.

Kafka's own format, so that its tools (`kafka-dump-log --offsets-decoder`) and a Kafka coordinator can read them: a
record key is a version and an OffsetCommitKey (0, 1) or a GroupMetadataKey (2), a value is a version and the
matching value. They are written in the versions that Kafka writes: the newest that is not flexible (KIP-915), and
OffsetCommitValue 1 for requests that have a retention of their own (OffsetCommit 2 to 4).
"""

from __future__ import annotations

import struct
from typing import Any

from signalbox.coordinator.decision import CoordinatorRecord
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

# Class of the key -> (version of the key, version of the value) that is written
_WRITTEN: dict[Any, tuple[int, int]] = {
    OffsetCommitKey: (OFFSET_COMMIT_KEY_VERSION, OFFSET_COMMIT_VALUE_VERSION),
    GroupMetadataKey: (GROUP_METADATA_KEY_VERSION, GROUP_METADATA_VALUE_VERSION),
}


class GroupRecordSerde:
    """Encodes and decodes the records that a group shard writes and replays."""

    __slots__ = ()

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        key, value, _ = record
        key_version, value_version = _WRITTEN[type(key)]
        if isinstance(value, OffsetCommitValue) and value.expire_timestamp != -1:
            value_version = OFFSET_COMMIT_VALUE_VERSION_WITH_EXPIRY
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


def offset_record(group_id: str, topic: str, partition: int, value: OffsetCommitValue) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), value)


def offset_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), None)
