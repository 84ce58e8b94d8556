from __future__ import annotations

from signalbox.client.transactions.transaction_state import FAILED, OPEN, RETRYING, TRANSITIONS, TransactionState

_S = TransactionState


def test_every_state_has_its_transitions_and_each_is_reached() -> None:
    assert set(TRANSITIONS) == set(TransactionState)
    reached = {_S.UNINITIALIZED}
    while (more := reached.union(*(TRANSITIONS[state] for state in reached))) != reached:
        reached = more
    assert reached == set(TransactionState)


def test_every_state_may_become_fatal_and_none_leaves_it() -> None:
    assert not TRANSITIONS[_S.FATAL_ERROR]
    assert all(_S.FATAL_ERROR in TRANSITIONS[state] for state in _S if state is not _S.FATAL_ERROR)


def test_after_an_abortable_error_there_is_only_the_abort() -> None:
    assert TRANSITIONS[_S.ABORTABLE_ERROR] == {_S.ABORTING, _S.FATAL_ERROR}
    assert not OPEN & FAILED
    assert _S.FATAL_ERROR not in RETRYING
