from __future__ import annotations

from itertools import product

import pytest

from signalbox.coordinator.transaction.transaction_state import (
    END_TXN_V1,
    END_TXN_V2,
    EXPIRING_STATES,
    STATE_CODES,
    TRANSITIONS,
    EndTxn,
    TransactionState,
)

pytestmark = pytest.mark.spec("D5")
STORED = [s for s in TransactionState if s not in (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)]


def test_the_tables_are_total() -> None:
    assert set(TRANSITIONS) == set(TransactionState)
    assert set(END_TXN_V1) == set(END_TXN_V2) == set(product(STORED, (True, False)))


def test_the_numbers_of_kafkas_records() -> None:
    assert {state.value: code for state, code in STATE_CODES.items()} == {
        "Empty": 0,
        "Ongoing": 1,
        "PrepareCommit": 2,
        "PrepareAbort": 3,
        "CompleteCommit": 4,
        "CompleteAbort": 5,
        "Dead": 6,
        "PrepareEpochFence": 7,
    }


def test_every_state_is_reached_from_empty_and_the_result_of_a_prepared_transaction_is_certain() -> None:
    reached, frontier = set(), {TransactionState.EMPTY}
    while frontier:
        reached |= frontier
        frontier = {after for state in frontier for after in TRANSITIONS[state]} - reached
    assert reached == set(TransactionState)
    assert TransactionState.PREPARE_ABORT not in TRANSITIONS[TransactionState.PREPARE_COMMIT]
    assert TransactionState.PREPARE_COMMIT not in TRANSITIONS[TransactionState.PREPARE_ABORT]


def test_only_states_without_a_transaction_expire() -> None:
    assert {state for state in TransactionState if TransactionState.DEAD in TRANSITIONS[state]} == EXPIRING_STATES


def test_a_prepared_result_is_never_changed_by_end_txn() -> None:
    for state, commit in END_TXN_V1:
        if state.is_prepared:
            assert END_TXN_V1[state, commit] is EndTxn.WAIT
            assert END_TXN_V2[state, commit] == (EndTxn.WAIT, EndTxn.WAIT)
