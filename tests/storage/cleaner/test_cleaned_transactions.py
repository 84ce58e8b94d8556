"""Which batches are aborted, which markers are needed, which aborted transactions the new index has."""

from __future__ import annotations

import pytest

from signalbox.protocol.records.batch_header import BatchHeader, read_batch_header
from signalbox.protocol.records.transaction_marker import TransactionMarker
from signalbox.storage.cleaner.cleaned_transactions import CleanedTransactions
from signalbox.storage.segments.transaction_index import AbortedTransaction
from tests.storage.cleaner.cleaning import keyed, marker

pytestmark = pytest.mark.spec("D5", "D6")

ABORT, COMMIT = TransactionMarker(False, 0), TransactionMarker(True, 0)


def data(offset: int, producer_id: int, transactional: bool = True) -> BatchHeader:
    header = read_batch_header(keyed({"a": "1"}, producer=(producer_id, 0, 0), transactional=transactional))
    return header._replace(base_offset=offset)


def control(offset: int, producer_id: int) -> BatchHeader:
    return read_batch_header(marker(producer_id, commit=True))._replace(base_offset=offset)


def transactions_of(*aborted: AbortedTransaction) -> CleanedTransactions:
    transactions = CleanedTransactions()
    transactions.add(aborted)
    return transactions


def test_batches_between_the_first_one_and_the_marker_are_aborted() -> None:
    first, second = AbortedTransaction(1, 2, 5, 6), AbortedTransaction(1, 9, 12, 13)
    transactions = transactions_of(second, first)
    assert not transactions.is_aborted(data(1, 1))  # of the transaction before
    assert not transactions.can_discard(control(1, 1), COMMIT)
    assert transactions.is_aborted(data(2, 1))
    transactions.add([first])  # once more, before its marker
    assert not transactions.is_aborted(data(3, 2))
    assert not transactions.is_aborted(data(3, 1, transactional=False))
    assert transactions.is_aborted(data(4, 1))
    assert not transactions.can_discard(control(5, 1), ABORT)
    assert not transactions.is_aborted(data(6, 1))
    assert not transactions.can_discard(control(7, 1), COMMIT)
    assert transactions.take_kept() == [first]
    assert transactions.is_aborted(data(9, 1))
    assert not transactions.can_discard(control(12, 1), ABORT)
    assert transactions.take_kept() == [second]
    assert transactions.take_kept() == []


def test_an_aborted_transaction_ends_at_its_offset_without_its_marker() -> None:
    transactions = transactions_of(AbortedTransaction(1, 2, 5, 6))
    assert transactions.is_aborted(data(2, 1))
    assert not transactions.is_aborted(data(6, 1))  # the map may begin between the marker and this batch


def test_an_abort_marker_is_needed_as_long_as_an_emptied_batch_of_its_transaction_is_left() -> None:
    transactions = transactions_of()  # the entry of the index is gone
    assert not transactions.is_aborted(data(1, 7))
    assert not transactions.can_discard(control(2, 7), ABORT)
    assert transactions.can_discard(control(3, 7), ABORT)
    assert transactions.take_kept() == []


def test_a_marker_without_batches_is_not_needed() -> None:
    transactions = transactions_of(AbortedTransaction(1, 0, 5, 6))
    assert transactions.can_discard(control(5, 1), ABORT)
    assert transactions.take_kept() == []
    assert transactions.can_discard(control(6, 2), COMMIT)
    assert transactions.can_discard(control(7, 2)._replace(record_count=0), None)
    assert not transactions.can_discard(control(8, 2), None)  # a control record of another kind
    assert not transactions.is_aborted(data(9, 2))
    assert not transactions.can_discard(control(10, 2), COMMIT)
    assert transactions.can_discard(control(11, 2), COMMIT)
