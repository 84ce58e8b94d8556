"""What happens to a batch as a whole: markers, aborted batches, the last batch of a producer and of a round."""

from __future__ import annotations

import pytest

from signalbox.protocol.records.batch_header import BatchHeader, read_batch_header
from signalbox.protocol.records.transaction_marker import TransactionMarker
from signalbox.storage.cleaner.batch_retention import (
    DELETE_HORIZON_BIT,
    BatchRetention,
    RetentionRules,
    is_past_horizon,
    retention_of,
)
from signalbox.storage.cleaner.cleaned_transactions import CleanedTransactions
from signalbox.storage.segments.transaction_index import AbortedTransaction
from tests.storage.cleaner.cleaning import keyed, marker

pytestmark = pytest.mark.spec("D6")

COMMIT = TransactionMarker(is_commit=True, coordinator_epoch=0)
RULES = RetentionRules(
    now_ms=1_000, delete_retention_ms=100, upper_bound_offset=50, last_records={5: (3, 0), 6: (-1, 2)}
)


def header(data: bytes, offset: int = 0, horizon_ms: int | None = None) -> BatchHeader:
    batch = read_batch_header(data)._replace(base_offset=offset)
    if horizon_ms is None:
        return batch
    return batch._replace(attributes=batch.attributes | DELETE_HORIZON_BIT, base_timestamp=horizon_ms)


def retention(
    batch: BatchHeader, ending: TransactionMarker | None = None, aborted: tuple[AbortedTransaction, ...] = ()
) -> BatchRetention:
    transactions = CleanedTransactions()
    transactions.add(aborted)
    return retention_of(batch, ending, transactions, RULES)


def test_batches_of_records() -> None:
    plain = keyed({"a": "1"})
    assert retention(header(plain)) == BatchRetention(False, False)
    assert retention(header(plain, 49)) == BatchRetention(False, True)  # the last one of the round
    own = keyed({"a": "1"}, producer=(5, 0, 0))
    assert retention(header(own, 3)) == BatchRetention(False, True)
    assert retention(header(own, 2)) == BatchRetention(False, False)
    assert retention(header(keyed({"a": "1"}, producer=(9, 0, 0)), 3)) == BatchRetention(False, False)  # not active
    transactional = keyed({"a": "1"}, producer=(5, 0, 0), transactional=True)
    assert retention(header(transactional, 3), aborted=(AbortedTransaction(5, 3, 4, 5),)) == BatchRetention(True, True)


@pytest.mark.parametrize(
    ("horizon_ms", "expected"),
    [
        (None, BatchRetention(False, False, True)),
        (1_001, BatchRetention(False, False, True)),
        (1_000, BatchRetention(True, False, True)),
    ],
)
def test_a_marker_that_is_not_needed_is_removed_after_its_horizon(
    horizon_ms: int | None, expected: BatchRetention
) -> None:
    assert retention(header(marker(7, commit=True), 4, horizon_ms), COMMIT) == expected


def test_the_last_marker_of_a_producer_without_records_is_kept() -> None:
    assert retention(header(marker(6, commit=True, producer_epoch=2), 4), COMMIT).keep_empty
    assert not retention(header(marker(6, commit=True, producer_epoch=1), 4), COMMIT).keep_empty


def test_horizons() -> None:
    assert not is_past_horizon(header(keyed({"a": None})), 10**15)
    assert [is_past_horizon(header(keyed({"a": None}), 0, 500), now) for now in (499, 500)] == [False, True]
