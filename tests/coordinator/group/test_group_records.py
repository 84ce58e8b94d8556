"""The bytes of records in `__consumer_offsets`, written by hand from Kafka's definitions."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.coordinator.group.classic.test_classic_group import group_of

from signalbox.coordinator.decision import CoordinatorRecord
from signalbox.coordinator.group.group_records import (
    GroupRecordSerde,
    offset_record,
    offset_tombstone,
)
from signalbox.protocol.messages.group_records import GroupMetadataKey, GroupMetadataValue, OffsetCommitValue

SERDE = GroupRecordSerde()


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def data(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def test_an_offset_commit() -> None:
    value = OffsetCommitValue(offset=42, leader_epoch=3, metadata="m", commit_timestamp=1_000)
    assert SERDE.encode(offset_record("g", "t", 7, value)) == (
        struct.pack(">h", 1) + text("g") + text("t") + struct.pack(">i", 7),
        struct.pack(">hqi", 3, 42, 3) + text("m") + struct.pack(">q", 1_000),
    )


def test_an_offset_commit_with_its_own_expiry_is_of_version_1() -> None:
    value = OffsetCommitValue(offset=42, leader_epoch=3, metadata="m", commit_timestamp=1_000, expire_timestamp=2_000)
    _, encoded = SERDE.encode(offset_record("g", "t", 7, value))
    assert encoded == struct.pack(">hq", 1, 42) + text("m") + struct.pack(">qq", 1_000, 2_000)


def test_tombstones_have_a_key_alone() -> None:
    assert SERDE.encode(group_of().tombstone()) == (struct.pack(">h", 2) + text("g"), None)
    assert SERDE.encode(offset_tombstone("g", "t", 7)) == (
        struct.pack(">h", 1) + text("g") + text("t") + struct.pack(">i", 7),
        None,
    )


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_an_offset_commit_is_read(version: int) -> None:
    value = OffsetCommitValue(offset=42, metadata="m", commit_timestamp=5)
    for key_version in (0, 1):
        key = struct.pack(">h", key_version) + text("g") + text("t") + struct.pack(">i", 7)
        record = SERDE.decode(key, struct.pack(">h", version) + value.encode(version))
        assert record is not None
        assert record.value is not None
        assert (record.key.group, record.key.topic, record.key.partition) == ("g", "t", 7)
        assert (record.value.offset, record.value.metadata, record.value.expire_timestamp) == (42, "m", -1)


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_a_group_is_read(version: int) -> None:
    one = GroupMetadataValue.MemberMetadata(member_id="a", client_id="c", client_host="/h", session_timeout=9)
    value = GroupMetadataValue(protocol_type="consumer", generation=4, protocol="range", leader="a", members=[one])
    record = SERDE.decode(struct.pack(">h", 2) + text("g"), struct.pack(">h", version) + value.encode(version))
    assert record is not None
    assert record.value is not None
    assert (record.key, record.value.generation) == (GroupMetadataKey(group="g"), 4)
    assert record.value.members[0].member_id == "a"


def test_kinds_of_later_releases_are_not_touched() -> None:
    assert SERDE.decode(struct.pack(">h", 3) + b"whatever", b"x") is None


@given(st.text(max_size=30), st.text(max_size=30), st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))
def test_what_is_written_is_read(group: str, topic: str, partition: int, offset: int) -> None:
    value = OffsetCommitValue(offset=offset, leader_epoch=1, metadata=topic, commit_timestamp=2)
    record = offset_record(group, topic, partition, value)
    assert SERDE.decode(*SERDE.encode(record)) == record
    tombstone = CoordinatorRecord(record.key, None)
    assert SERDE.decode(*SERDE.encode(tombstone)) == tombstone
