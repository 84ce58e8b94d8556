from __future__ import annotations

import pytest

from signalbox.client.sender.batch_action import NOT_APPENDED, BatchAction, action_after
from signalbox.protocol.error_table import Error


@pytest.mark.parametrize("error", list(Error))
def test_every_error_has_an_action(error: Error) -> None:
    assert isinstance(action_after(error, 2, False), BatchAction)


@pytest.mark.parametrize(
    ("error", "records", "maybe_appended", "action"),
    [
        (Error.NONE, 1, True, BatchAction.COMPLETE),
        (Error.DUPLICATE_SEQUENCE_NUMBER, 1, True, BatchAction.COMPLETE),
        (Error.NOT_LEADER_OR_FOLLOWER, 1, False, BatchAction.RETRY),
        (Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND, 1, False, BatchAction.RETRY),
        (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, 1, False, BatchAction.NEW_PRODUCER_ID),
        (Error.OUT_OF_ORDER_SEQUENCE_NUMBER, 1, True, BatchAction.FAIL),
        (Error.MESSAGE_TOO_LARGE, 2, False, BatchAction.SPLIT),
        (Error.MESSAGE_TOO_LARGE, 2, True, BatchAction.FAIL),
        (Error.MESSAGE_TOO_LARGE, 1, False, BatchAction.FAIL),
        (Error.TOPIC_AUTHORIZATION_FAILED, 1, False, BatchAction.FAIL),
    ],
)
def test_the_action_after_a_response(error: Error, records: int, maybe_appended: bool, action: BatchAction) -> None:
    assert action_after(error, records, maybe_appended) is action


@pytest.mark.parametrize("error", [Error.CONCURRENT_TRANSACTIONS, Error.INVALID_TXN_STATE])
def test_a_batch_that_its_transaction_does_not_admit_is_not_appended(error: Error) -> None:
    assert error in NOT_APPENDED
