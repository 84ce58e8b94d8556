from __future__ import annotations

import pytest
from tests.coordinator.transaction.shards import NAME, P0, P1, TIMEOUT_MS, error_of, fail

from signalbox.coordinator.transaction.transaction_state import TransactionState
from signalbox.coordinator.transaction.transactional_id import MAX_EPOCH, Transaction, TransactionalId
from signalbox.protocol.error_table import Error

pytestmark = pytest.mark.spec("D5")
EMPTY = Transaction(producer_id=7, producer_epoch=3, timeout_ms=TIMEOUT_MS, updated_ms=1)
ONGOING = EMPTY.with_partitions([P0], 2, 10)


def test_the_first_partition_begins_the_transaction() -> None:
    assert (ONGOING.state, ONGOING.started_ms, ONGOING.client_version) == (TransactionState.ONGOING, 10, 2)
    more = ONGOING.with_partitions([P1], 2, 20)
    assert (more.partitions, more.started_ms, more.updated_ms) == (frozenset((P0, P1)), 10, 20)


def test_transaction_version_2_raises_the_epoch_with_each_transaction() -> None:
    prepared = ONGOING.prepared(True, 2, -1, 20)
    assert (prepared.producer_epoch, prepared.last_producer_epoch, prepared.started_ms) == (4, 3, 10)
    completed = prepared.completed(30)
    assert (completed.state, completed.producer_epoch, completed.partitions) == (
        TransactionState.COMPLETE_COMMIT,
        4,
        frozenset(),
    )
    assert ONGOING.prepared(True, 0, -1, 20).producer_epoch == 3


def test_the_abort_of_a_transaction_without_partitions_begins_when_it_ends() -> None:
    assert EMPTY.prepared(False, 2, -1, 20).started_ms == 20


def test_an_exhausted_producer_id_is_replaced_when_the_transaction_is_complete() -> None:
    exhausted = Transaction(producer_id=7, producer_epoch=MAX_EPOCH - 1, timeout_ms=1).with_partitions([P0], 2, 10)
    prepared = exhausted.prepared(True, 2, 8, 20)
    assert (prepared.producer_id, prepared.producer_epoch, prepared.next_producer_id) == (7, MAX_EPOCH, 8)
    completed = prepared.completed(30)
    assert (completed.producer_id, completed.producer_epoch, completed.next_producer_id) == (8, 0, -1)
    assert (completed.previous_producer_id, completed.last_producer_epoch) == (7, MAX_EPOCH - 1)


def test_fencing_never_overflows_the_epoch() -> None:
    top = Transaction(producer_id=7, producer_epoch=MAX_EPOCH, timeout_ms=1).with_partitions([P0], 2, 10)
    assert top.fenced().prepared(False, 1, -1, 20).producer_epoch == MAX_EPOCH
    assert ONGOING.fenced().prepared(False, 1, -1, 20).producer_epoch == 4


def test_one_write_at_a_time() -> None:
    entry = TransactionalId(NAME, EMPTY)
    entry.write(None, ONGOING)
    assert error_of(entry.check_not_pending) is Error.CONCURRENT_TRANSACTIONS
    with pytest.raises(ValueError, match="no transition"):
        entry.write(None, ONGOING)
    entry.replay(ONGOING)
    entry.check_not_pending()


def test_a_failed_write_changes_nothing_and_one_without_acknowledgement_stays_pending() -> None:
    entry = TransactionalId(NAME, EMPTY)
    for error, pending in (
        (Error.NOT_ENOUGH_REPLICAS, None),
        (Error.REQUEST_TIMED_OUT, TransactionState.ONGOING),
    ):
        decision = entry.write(None, ONGOING)
        fail(decision, error)
        assert (entry.current, entry.pending) == (EMPTY, pending)
    fail(decision, Error.KAFKA_STORAGE_ERROR)
    assert entry.pending is None, "the log's result is known at last: the record is not in the log"


def test_a_transition_outside_the_table_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"no transition from TransactionState.EMPTY"):
        TransactionalId(NAME, EMPTY).write(None, ONGOING.prepared(True, 0, -1, 20))
