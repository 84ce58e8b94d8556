from __future__ import annotations

from typing import Any

import pytest
from tests.coordinator.group.test_offset_store import T0, T1, U0, at

from signalbox.common.ids import TopicPartition
from signalbox.coordinator.group.offset_store import OffsetStore
from signalbox.coordinator.group.pending_offsets import PendingOffsets

pytestmark = pytest.mark.spec("D5")


def test_offsets_count_when_their_transaction_is_committed() -> None:
    store = OffsetStore()
    store.pending.put(7, "g", T0, at(1))
    store.pending.put(7, "h", U0, at(2))
    store.pending.put(8, "g", T1, at(3))
    assert store.of_group("g") == {}
    assert sorted(store.known_or_coming("g")) == [T0, T1]
    assert (store.pending.is_unstable("g", T0), store.pending.is_unstable("g", U0)) == (True, False)
    store.end_transaction(7, committed=True)
    store.end_transaction(8, committed=False)
    assert (store.of_group("g"), store.of_group("h"), store.count) == ({T0: at(1)}, {U0: at(2)}, 2)
    assert not store.pending.has_group("g")
    assert store.pending.groups() == set()


def test_an_offset_that_was_written_later_stays_when_the_transaction_is_committed() -> None:
    store = OffsetStore()
    store.pending.put(7, "g", T0, at(1))
    store.put("g", T0, at(2))
    assert store.pending.is_unstable("g", T0)
    store.end_transaction(7, committed=True)
    assert store.of_group("g") == {T0: at(2)}


@pytest.mark.parametrize("producers", [(7, 8), (8, 7)])
@pytest.mark.parametrize("markers", [(7, 8), (8, 7)])
def test_of_two_transactions_the_offset_that_was_written_later_counts(
    producers: tuple[int, int], markers: tuple[int, int]
) -> None:
    store = OffsetStore()
    for producer_id, offset in zip(producers, (100, 120), strict=True):
        store.pending.put(producer_id, "g", T0, at(offset))
    for producer_id in markers:
        store.end_transaction(producer_id, committed=True)
    assert store.of_group("g") == {T0: at(120)}


def test_an_aborted_transaction_supersedes_nothing() -> None:
    store = OffsetStore()
    store.pending.put(7, "g", T0, at(100))
    store.pending.put(8, "g", T0, at(120))
    store.end_transaction(8, committed=False)
    store.end_transaction(7, committed=True)
    assert store.of_group("g") == {T0: at(100)}


def test_a_tombstone_removes_a_pending_offset_too() -> None:
    store = OffsetStore()
    store.pending.put(7, "g", T0, at(1))
    store.pending.put(8, "g", T0, at(2))
    store.pending.put(8, "g", T1, at(3))
    store.remove("g", T0)
    assert store.known_or_coming("g") == [T1]
    assert not store.pending.is_unstable("g", T0)  # as in Kafka; the transactions have not ended
    assert store.pending.is_unstable("g", T1)
    store.end_transaction(7, committed=True)
    assert store.of_group("g") == {}
    store.remove("g", T1)
    assert not store.pending.has_group("g")
    store.end_transaction(8, committed=True)
    assert store.of_group("g") == {}


def test_the_last_offset_of_a_transaction_counts_and_an_end_without_offsets_changes_nothing() -> None:
    store = OffsetStore()
    store.pending.put(7, "g", T0, at(1))
    store.pending.put(7, "g", T0, at(2))
    store.end_transaction(9, committed=True)
    store.end_transaction(7, committed=True)
    store.end_transaction(7, committed=False)
    assert store.of_group("g") == {T0: at(2)}


def test_groups_with_a_topic_include_those_with_pending_offsets() -> None:
    store = OffsetStore()
    store.pending.put(7, "g", T0, at(1))
    assert list(store.groups_with_topic("t")) == ["g"]


def test_a_commit_does_not_look_at_the_transactions_of_other_partitions() -> None:
    """A group with very many open transactions must not make each commit slow."""
    pending = PendingOffsets()
    looked_up = list[int]()

    class Counting(dict[int, Any]):
        def __getitem__(self, producer_id: int) -> Any:
            looked_up.append(producer_id)
            return super().__getitem__(producer_id)

    for number in range(100):
        pending.put(number, "g", TopicPartition("t", number), at(number))
    pending._by_producer = Counting(pending._by_producer)
    pending.supersede("g", TopicPartition("t", 7))
    assert looked_up == [7]
    assert pending.is_unstable("g", TopicPartition("t", 7))
    assert len(pending.partitions("g")) == 99
    for number in range(100):
        pending.end(number, committed=False)
    assert not pending.has_group("g")
