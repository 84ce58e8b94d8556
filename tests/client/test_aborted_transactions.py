from __future__ import annotations

import pytest

from signalbox.client.aborted_transactions import AbortedTransactions, end_offset
from signalbox.protocol.messages.fetch import FetchResponse
from signalbox.protocol.records.batch_header import iter_batch_headers, patch_base_offset_and_epoch
from signalbox.protocol.records.record_batch import Record, encode_batch, records_of
from signalbox.protocol.records.transaction_marker import TransactionMarker, encode_marker


def batch(value: str, producer_id: int = -1, *, transactional: bool = True) -> bytes:
    record = Record(timestamp=1, key=None, value=value.encode())
    if producer_id < 0:
        return encode_batch([record])
    return encode_batch(
        [record], producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=transactional
    )


def marker(producer_id: int, *, commit: bool) -> bytes:
    return encode_marker(producer_id, 0, TransactionMarker(commit, 0), 1)


def read(batches: list[bytes], *aborted: tuple[int, int], first: int = 0) -> list[str]:
    """The values for the application. `aborted`: (producer id, first offset)."""
    log = b""
    for offset, encoded in enumerate(batches):
        stored = bytearray(encoded)
        patch_base_offset_and_epoch(stored, offset, 0)
        log += stored if offset >= first else b""
    rows = [FetchResponse.AbortedTransaction(producer_id=row[0], first_offset=row[1]) for row in aborted]
    transactions, view = AbortedTransactions(rows), memoryview(log)
    return [
        bytes(record.value or b"").decode()
        for header in iter_batch_headers(log)
        if not transactions.hides(view, header)
        for record in records_of(view, header)
    ]


@pytest.mark.spec("R10")
def test_batches_of_aborted_transactions_are_hidden_up_to_the_marker() -> None:
    log = [
        batch("a", 1),
        batch("b", 2),
        batch("plain"),
        batch("a2", 1),
        marker(1, commit=False),
        batch("b2", 2),
        marker(2, commit=True),
        batch("again", 1),
        marker(1, commit=True),
    ]
    assert read(log, (1, 0)) == ["b", "plain", "b2", "again"]


def test_a_producer_aborts_twice() -> None:
    log = [
        batch("a", 1),
        marker(1, commit=False),
        batch("b", 1),
        marker(1, commit=True),
        batch("c", 1),
        marker(1, commit=False),
    ]
    assert read(log, (1, 4), (1, 0)) == ["b"]


def test_a_fetch_may_begin_inside_a_transaction() -> None:
    log = [batch("a", 1), batch("b", 1), marker(1, commit=False), batch("c", 1)]
    assert read(log, (1, 0), first=1) == ["c"]


def test_without_aborted_transactions_only_markers_are_hidden() -> None:
    assert read([batch("a", 1), marker(1, commit=True), batch("b")]) == ["a", "b"]


def test_records_end_at_the_last_stable_offset_or_at_the_high_watermark() -> None:
    row = FetchResponse.PartitionData(high_watermark=9, last_stable_offset=4)
    assert (end_offset(row, "read_uncommitted"), end_offset(row, "read_committed")) == (9, 4)


def test_batches_outside_of_transactions_are_never_hidden() -> None:
    assert read([batch("a", 1, transactional=False), batch("b", 1)], (1, 0)) == ["a"]
