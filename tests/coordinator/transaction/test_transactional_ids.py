from __future__ import annotations

import pytest
from tests.coordinator.transaction.shards import NAME, TIMEOUT_MS, error_of

from signalbox.coordinator.transaction.transaction_state import TransactionState
from signalbox.coordinator.transaction.transactional_id import Transaction
from signalbox.coordinator.transaction.transactional_ids import TransactionalIds
from signalbox.protocol.error_table import Error

pytestmark = pytest.mark.spec("D5")


def ids_with(**fields: object) -> TransactionalIds:
    ids = TransactionalIds()
    base: dict[str, object] = {"producer_id": 7, "producer_epoch": 3, "timeout_ms": TIMEOUT_MS}
    ids.replay(NAME, Transaction(**base | fields))  # type: ignore[arg-type]
    return ids


@pytest.mark.parametrize(
    ("name", "producer", "error"),
    [
        (NAME, (7, 3), Error.NONE),
        (NAME, (8, 3), Error.INVALID_PRODUCER_ID_MAPPING),
        ("unknown", (7, 3), Error.INVALID_PRODUCER_ID_MAPPING),
        (NAME, (7, 2), Error.PRODUCER_FENCED),
        (NAME, (7, 4), Error.PRODUCER_FENCED),
    ],
)
def test_the_producer_must_be_the_current_one(name: str, producer: tuple[int, int], error: Error) -> None:
    assert error_of(lambda: ids_with().of_current_producer(name, *producer)) is error


def test_the_next_producer_id_waits_for_the_markers() -> None:
    ids = ids_with(state=TransactionState.PREPARE_COMMIT, next_producer_id=8)
    assert error_of(lambda: ids.of_current_producer(NAME, 8, 0)) is Error.CONCURRENT_TRANSACTIONS


def test_replay_creates_replaces_and_removes() -> None:
    ids = ids_with()
    entry = ids.get(NAME)
    ids.replay(NAME, Transaction(producer_id=9, timeout_ms=1))
    assert entry is not None
    assert (ids.get(NAME), entry.current.producer_id, len(ids)) == (entry, 9, 1)
    assert ids.count_by_state() == {"Empty": 1}
    ids.replay(NAME, None)
    ids.replay("never there", None)
    assert list(ids) == []
