"""Offsets, expiry and deletion of a group need no more than `Group`."""

from __future__ import annotations

import pytest
from tests.coordinator.group.other_group import OtherGroup

from signalbox.common.ids import TopicPartition
from signalbox.coordinator.config_rows import GroupSettings
from signalbox.coordinator.group.group import Group, GroupType
from signalbox.coordinator.group.group_expiry import GroupExpiry
from signalbox.coordinator.group.group_map import GroupMap
from signalbox.coordinator.group.offset_delete import OffsetDelete
from signalbox.coordinator.group.offset_store import CommittedOffset, OffsetStore
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.offset_delete import OffsetDeleteRequest


def shard_of(*groups: Group) -> tuple[GroupMap, OffsetStore]:
    """One offset at time 0 of each topic and group."""
    group_map, offsets = GroupMap(), OffsetStore()
    for group in groups:
        group_map.put(group)
        for topic in ("subscribed", "t"):
            offsets.put(group.group_id, TopicPartition(topic, 0), CommittedOffset(5, -1, "", 0))
    return group_map, offsets


def test_types_have_the_names_of_list_groups() -> None:
    assert [group_type.value for group_type in GroupType] == ["classic"]


def test_offsets_of_any_group_expire_by_its_own_rules() -> None:
    groups, offsets = shard_of(OtherGroup("g"))
    (decision,) = GroupExpiry(groups, offsets, GroupSettings(offsets_retention_ms=100)).expire(now_ms=100)
    assert [(key.topic, value) for key, value, _ in decision.records] == [("t", None)]


def test_any_group_is_deleted_with_its_offsets() -> None:
    group = OtherGroup("g")
    groups, offsets = shard_of(group)
    decision = GroupExpiry(groups, offsets, GroupSettings()).delete("g")
    assert (len(decision.records), decision.records[-1], groups.get("g")) == (3, group.tombstone(), None)
    for effect in decision.effects:
        effect()
    assert group.is_dead


def test_any_group_may_reject_deletions() -> None:
    groups, offsets = shard_of(OtherGroup("g", Error.NON_EMPTY_GROUP))
    with pytest.raises(KafkaError, match="NON_EMPTY_GROUP"):
        GroupExpiry(groups, offsets, GroupSettings()).delete("g")
    with pytest.raises(KafkaError, match="NON_EMPTY_GROUP"):
        OffsetDelete(groups, offsets).delete(OffsetDeleteRequest(group_id="g"))
