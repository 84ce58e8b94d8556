"""Which transactions are aborted or undecided, and which markers are needed."""

from __future__ import annotations

from signalbox.protocol.records.batch_header import BatchHeader, read_batch_header
from signalbox.storage.cleaner.cleaned_transactions import (
    ABORT_MARKER,
    COMMIT_MARKER,
    AbortedTransaction,
    CleanedTransactions,
    TransactionScan,
)
from tests.storage.cleaner.cleaning import keyed, marker


def data(offset: int, producer_id: int, transactional: bool = True) -> BatchHeader:
    header = read_batch_header(keyed({"a": "1"}, producer=(producer_id, 0, 0), transactional=transactional))
    return header._replace(base_offset=offset)


def control(offset: int, producer_id: int) -> BatchHeader:
    return read_batch_header(marker(producer_id, commit=True))._replace(base_offset=offset)


def test_a_scan_finds_aborted_and_undecided_transactions() -> None:
    scan = TransactionScan()
    for offset, producer_id, ending in (
        (0, 1, None), (1, 2, None), (2, 1, None), (3, 1, ABORT_MARKER), (4, 2, COMMIT_MARKER), (5, 1, None),
        (6, 3, ABORT_MARKER), (7, 2, None),
    ):  # fmt: skip
        batch = data(offset, producer_id) if ending is None else control(offset, producer_id)
        scan.add(batch, ending)
    assert scan.aborted == [AbortedTransaction(0, 3, 1)]
    assert scan.undecided_from == 5


def test_control_batches_without_a_marker_neither_begin_nor_end_a_transaction() -> None:
    scan = TransactionScan()
    scan.add(control(0, 1), None)  # a follower has fetched it after its leader had compacted it
    assert scan.undecided_from is None
    scan.add(data(1, 1), None)
    scan.add(control(2, 1), 7)
    scan.add(control(3, 1), None)
    assert scan.undecided_from == 1


def test_batches_between_the_first_one_and_the_marker_are_aborted() -> None:
    transactions = CleanedTransactions([AbortedTransaction(9, 12, 1), AbortedTransaction(2, 5, 1)])
    assert not transactions.is_aborted(data(1, 1))  # of the transaction before
    assert not transactions.is_superfluous(control(1, 1), COMMIT_MARKER)
    assert transactions.is_aborted(data(2, 1))
    assert not transactions.is_aborted(data(3, 2))
    assert not transactions.is_aborted(data(3, 1, transactional=False))
    assert transactions.is_aborted(data(4, 1))
    assert not transactions.is_superfluous(control(5, 1), ABORT_MARKER)
    assert not transactions.is_aborted(data(6, 1))


def test_an_abort_marker_is_needed_as_long_as_an_emptied_batch_of_its_transaction_is_left() -> None:
    transactions = CleanedTransactions([])  # an earlier round has removed the records
    assert not transactions.is_aborted(data(1, 7))
    assert not transactions.is_superfluous(control(2, 7), ABORT_MARKER)
    assert transactions.is_superfluous(control(3, 7), ABORT_MARKER)


def test_a_marker_without_batches_is_superfluous() -> None:
    transactions = CleanedTransactions([AbortedTransaction(0, 5, 1)])
    assert transactions.is_superfluous(control(5, 1), ABORT_MARKER)
    assert transactions.is_superfluous(control(6, 2), COMMIT_MARKER)
    assert transactions.is_superfluous(control(7, 2), None)
    assert not transactions.is_superfluous(control(8, 2), 7)  # a control record of another kind
    assert not transactions.is_aborted(data(9, 2))
    assert not transactions.is_superfluous(control(10, 2), COMMIT_MARKER)
    assert transactions.is_superfluous(control(11, 2), COMMIT_MARKER)
