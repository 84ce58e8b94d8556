"""The action of the producer after a Produce response, by error code."""

from __future__ import annotations

from enum import Enum

from signalbox.protocol.error_table import Error


class BatchAction(Enum):
    COMPLETE = "acknowledged"
    RETRY = "not appended, or appended without a response: send the same batch again"
    NEW_PRODUCER_ID = "the broker does not know the sequence: continue with a new producer id"
    SPLIT = "too large: two halves"
    FAIL = "certainly not appended, and it never will be"


_ACTIONS = {
    Error.NONE: BatchAction.COMPLETE,
    Error.DUPLICATE_SEQUENCE_NUMBER: BatchAction.COMPLETE,
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: BatchAction.NEW_PRODUCER_ID,
    Error.UNKNOWN_PRODUCER_ID: BatchAction.NEW_PRODUCER_ID,
    Error.INVALID_PRODUCER_EPOCH: BatchAction.NEW_PRODUCER_ID,
    Error.MESSAGE_TOO_LARGE: BatchAction.SPLIT,
}

# The broker returns these before it appends. After any other error the records may still be in the log: a leader that
# steps down while followers catch up returns NOT_LEADER_OR_FOLLOWER for records that the next leader has.
NOT_APPENDED = frozenset(
    {
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
        Error.UNKNOWN_PRODUCER_ID,
        Error.INVALID_PRODUCER_EPOCH,
        Error.INVALID_TXN_STATE,
        Error.CONCURRENT_TRANSACTIONS,
        Error.MESSAGE_TOO_LARGE,
        Error.RECORD_LIST_TOO_LARGE,
        Error.CORRUPT_MESSAGE,
        Error.INVALID_RECORD,
        Error.INVALID_TIMESTAMP,
        Error.INVALID_TOPIC_EXCEPTION,
        Error.INVALID_REQUIRED_ACKS,
        Error.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        Error.TOPIC_AUTHORIZATION_FAILED,
        Error.CLUSTER_AUTHORIZATION_FAILED,
        Error.NOT_ENOUGH_REPLICAS,
        Error.THROTTLING_QUOTA_EXCEEDED,
    }
)


def action_after(error: Error, record_count: int, maybe_appended: bool) -> BatchAction:
    """What to do with a batch of `record_count` records after the response `error`."""
    action = _ACTIONS.get(error, BatchAction.RETRY if error.retriable else BatchAction.FAIL)
    if action is BatchAction.SPLIT and record_count < 2:
        return BatchAction.FAIL
    if action in (BatchAction.NEW_PRODUCER_ID, BatchAction.SPLIT) and maybe_appended:
        return BatchAction.FAIL  # with other sequence numbers the broker could not recognize a duplicate
    return action
