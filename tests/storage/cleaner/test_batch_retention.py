"""What happens to a batch as a whole: markers, aborted batches, the last batch of a producer and of a round."""

from __future__ import annotations

import pytest

from signalbox.protocol.records.batch_header import BatchHeader, read_batch_header
from signalbox.storage.cleaner.batch_retention import (
    DELETE_HORIZON_BIT,
    BatchFate,
    RetentionRules,
    fate_of,
    is_past_horizon,
    marker_type,
)
from signalbox.storage.cleaner.cleaned_transactions import COMMIT_MARKER, AbortedTransaction, CleanedTransactions
from tests.storage.cleaner.cleaning import keyed, marker

RULES = RetentionRules(
    now_ms=1_000, delete_retention_ms=100, upper_bound_offset=50, last_records={5: (3, 0), 6: (-1, 2)}
)


def header(data: bytes, offset: int = 0, horizon_ms: int | None = None) -> BatchHeader:
    batch = read_batch_header(data)._replace(base_offset=offset)
    if horizon_ms is None:
        return batch
    return batch._replace(attributes=batch.attributes | DELETE_HORIZON_BIT, base_timestamp=horizon_ms)


def fate(batch: BatchHeader, ending: int | None = None, aborted: tuple[AbortedTransaction, ...] = ()) -> BatchFate:
    return fate_of(batch, ending, CleanedTransactions(list(aborted)), RULES)


def test_batches_of_records() -> None:
    plain = keyed({"a": "1"})
    assert fate(header(plain)) == BatchFate(False, False)
    assert fate(header(plain, 49)) == BatchFate(False, True)  # the last one of the round
    own = keyed({"a": "1"}, producer=(5, 0, 0))
    assert fate(header(own, 3)) == BatchFate(False, True)
    assert fate(header(own, 2)) == BatchFate(False, False)
    assert fate(header(keyed({"a": "1"}, producer=(9, 0, 0)), 3)) == BatchFate(False, False)  # not active
    transactional = keyed({"a": "1"}, producer=(5, 0, 0), transactional=True)
    assert fate(header(transactional, 3), aborted=(AbortedTransaction(3, 4, 5),)) == BatchFate(True, True)


@pytest.mark.parametrize(
    ("horizon_ms", "expected"),
    [
        (None, BatchFate(False, False, True)),
        (1_001, BatchFate(False, False, True)),
        (1_000, BatchFate(True, False, True)),
    ],
)
def test_a_superfluous_marker_is_removed_after_its_horizon(horizon_ms: int | None, expected: BatchFate) -> None:
    assert fate(header(marker(7, commit=True), 4, horizon_ms), COMMIT_MARKER) == expected


def test_the_last_marker_of_a_producer_without_records_is_kept() -> None:
    assert fate(header(marker(6, commit=True, producer_epoch=2), 4), COMMIT_MARKER).keep_empty
    assert not fate(header(marker(6, commit=True, producer_epoch=1), 4), COMMIT_MARKER).keep_empty


def test_horizons() -> None:
    assert not is_past_horizon(header(keyed({"a": None})), 10**15)
    assert [is_past_horizon(header(keyed({"a": None}), 0, 500), now) for now in (499, 500)] == [False, True]


def test_types_of_control_records() -> None:
    assert [marker_type(key) for key in (bytes((0, 0, 0, 1)), bytes(4), b"", None)] == [1, 0, -1, -1]
