from __future__ import annotations

import pytest

from signalbox.client.transactions.transaction_reactions import Reaction, Step, gravest, reaction_to
from signalbox.protocol.error_table import Error

_S, _R = Step, Reaction
_AT_COORDINATOR = (_S.INIT, _S.ADD_PARTITIONS, _S.ADD_OFFSETS, _S.COMMIT_OFFSETS, _S.COMMIT, _S.ABORT)


@pytest.mark.parametrize("step", _AT_COORDINATOR)
@pytest.mark.parametrize(
    ("error", "reaction"),
    [
        (Error.NONE, _R.ACCEPT),
        (Error.NOT_COORDINATOR, _R.FIND_COORDINATOR),
        (Error.COORDINATOR_NOT_AVAILABLE, _R.FIND_COORDINATOR),
        (Error.COORDINATOR_LOAD_IN_PROGRESS, _R.RETRY),
        (Error.CONCURRENT_TRANSACTIONS, _R.RETRY),
        (Error.INVALID_PRODUCER_EPOCH, _R.FENCED),
        (Error.PRODUCER_FENCED, _R.FENCED),
        (Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, _R.FATAL),
        (Error.UNKNOWN_SERVER_ERROR, _R.FATAL),
    ],
)
def test_errors_of_every_coordinator_request(step: Step, error: Error, reaction: Reaction) -> None:
    assert reaction_to(step, error) is reaction


@pytest.mark.parametrize(
    ("step", "error", "reaction"),
    [
        (_S.INIT, Error.INVALID_PRODUCER_ID_MAPPING, _R.FATAL),
        (_S.INIT, Error.TRANSACTION_ABORTABLE, _R.RETRY),
        (_S.ADD_PARTITIONS, Error.TOPIC_AUTHORIZATION_FAILED, _R.ABORTABLE),
        (_S.ADD_PARTITIONS, Error.TRANSACTION_ABORTABLE, _R.ABORTABLE),
        (_S.ADD_PARTITIONS, Error.UNKNOWN_TOPIC_OR_PARTITION, _R.RETRY),
        (_S.ADD_PARTITIONS, Error.INVALID_PRODUCER_ID_MAPPING, _R.ABORTABLE_NEW_EPOCH),
        (_S.ADD_PARTITIONS, Error.INVALID_TXN_STATE, _R.FATAL),
        (_S.ADD_OFFSETS, Error.GROUP_AUTHORIZATION_FAILED, _R.ABORTABLE),
        (_S.ADD_OFFSETS, Error.UNKNOWN_PRODUCER_ID, _R.ABORTABLE_NEW_EPOCH),
        (_S.FIND_GROUP_COORDINATOR, Error.GROUP_AUTHORIZATION_FAILED, _R.ABORTABLE),
        (_S.FIND_COORDINATOR, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, _R.FATAL),
        (_S.FIND_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE, _R.RETRY),
        (_S.COMMIT_OFFSETS, Error.ILLEGAL_GENERATION, _R.ABORTABLE),
        (_S.COMMIT_OFFSETS, Error.STALE_MEMBER_EPOCH, _R.ABORTABLE),
        (_S.COMMIT_OFFSETS, Error.FENCED_INSTANCE_ID, _R.ABORTABLE),
        (_S.COMMIT_OFFSETS, Error.REQUEST_TIMED_OUT, _R.FIND_COORDINATOR),
        (_S.COMMIT, Error.INVALID_PRODUCER_ID_MAPPING, _R.ABORTABLE_NEW_EPOCH),
        (_S.COMMIT, Error.INVALID_TXN_STATE, _R.FATAL),
        (_S.ABORT, Error.INVALID_PRODUCER_ID_MAPPING, _R.NOTHING_TO_ABORT),
        (_S.ABORT, Error.TRANSACTION_ABORTABLE, _R.RETRY),
        (_S.PRODUCE, Error.INVALID_PRODUCER_EPOCH, _R.ABORTABLE_NEW_EPOCH),
        (_S.PRODUCE, Error.PRODUCER_FENCED, _R.FENCED),
        (_S.PRODUCE, Error.REQUEST_TIMED_OUT, _R.ABORTABLE_NEW_EPOCH),
        (_S.PRODUCE, Error.TRANSACTION_ABORTABLE, _R.ABORTABLE_NEW_EPOCH),
    ],
)
def test_errors_of_one_request(step: Step, error: Error, reaction: Reaction) -> None:
    assert reaction_to(step, error) is reaction


def test_the_gravest_of_several_errors_decides() -> None:
    several = [Error.NONE, Error.OPERATION_NOT_ATTEMPTED, Error.TOPIC_AUTHORIZATION_FAILED]
    assert gravest(_S.ADD_PARTITIONS, several) == Error.TOPIC_AUTHORIZATION_FAILED
    assert gravest(_S.ADD_PARTITIONS, [*several, Error.PRODUCER_FENCED]) == Error.PRODUCER_FENCED
    assert gravest(_S.ADD_PARTITIONS, []) == Error.NONE
