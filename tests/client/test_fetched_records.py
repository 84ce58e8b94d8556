from __future__ import annotations

from signalbox.client.fetch_exchange import ConsumedRecord
from signalbox.client.fetched_records import FetchedRecords
from signalbox.common.ids import TopicPartition

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


def rows(partition: TopicPartition, *offsets: int) -> list[ConsumedRecord]:
    return [ConsumedRecord(*partition, offset, 0, None, None, ()) for offset in offsets]


def test_records_are_taken_in_the_order_of_their_arrival() -> None:
    records = FetchedRecords()
    records.add(A, rows(A, 0, 1))
    records.add(B, rows(B, 7))
    records.add(A, rows(A, 2))
    assert records.take(2) == rows(A, 0, 1)
    assert records.next_offsets() == {A: 2, B: 7}
    assert records.take(9) == rows(A, 2) + rows(B, 7)
    assert not records


def test_a_partition_without_records_is_not_there() -> None:
    records = FetchedRecords()
    records.add(A, [])
    assert (bool(records), A in records, records.take(1)) == (False, False, [])


def test_records_that_are_given_back_come_first() -> None:
    records = FetchedRecords()
    records.add(A, rows(A, 0, 1, 2))
    taken = records.take(2)
    records.add(B, rows(B, 7))
    records.give_back(taken)
    assert records.next_offsets() == {A: 0, B: 7}
    assert records.take(9) == rows(A, 0, 1, 2) + rows(B, 7)


def test_a_partition_is_dropped_without_the_others() -> None:
    records = FetchedRecords()
    records.add(A, rows(A, 0))
    records.add(B, rows(B, 7))
    records.drop([A, TopicPartition("c", 0)])
    assert A not in records
    assert records.take(9) == rows(B, 7)
