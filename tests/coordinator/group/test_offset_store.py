from __future__ import annotations

from signalbox.common.ids import TopicPartition
from signalbox.coordinator.group.offset_store import CommittedOffset, OffsetStore

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def at(offset: int) -> CommittedOffset:
    return CommittedOffset(offset, 0, "", 1)


def test_offsets_are_put_replaced_removed_and_counted() -> None:
    store = OffsetStore()
    store.put("g", T0, at(1))
    store.put("g", T0, at(2))
    store.put("g", U0, at(3))
    assert (store.of_group("g"), store.count) == ({T0: at(2), U0: at(3)}, 2)
    store.remove("g", T0)
    store.remove("g", T0)
    store.remove("other", T0)
    assert store.count == 1
    store.remove("g", U0)
    assert (store.of_group("g"), store.count) == ({}, 0)


def test_what_is_on_its_way_is_known_until_every_write_has_ended() -> None:
    store = OffsetStore()
    store.put("g", T0, at(1))
    first = store.begin("g", [T1])
    second = store.begin("g", [T1, T0])
    assert sorted(store.known_or_coming("g")) == [T0, T1]
    first()
    assert store.is_coming("g", T1)
    second()
    assert not store.is_coming("g", T1)
    assert store.known_or_coming("g") == [T0]


def test_groups_are_found_by_topic_also_while_the_commit_is_on_its_way() -> None:
    store = OffsetStore()
    store.put("a", T0, at(1))
    store.put("b", U0, at(1))
    store.begin("c", [T1])
    assert {group for group in store.groups_with_topic("t") if group} == {"a", "c"}
