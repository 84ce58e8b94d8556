"""What a broker's response means for a batch: the table that the producer applies."""

from __future__ import annotations

from enum import Enum

from signalbox.protocol.error_table import Error


class Verdict(Enum):
    DONE = "acknowledged"
    AGAIN = "not appended, or appended without an answer: send the same batch again"
    NEW_IDENTITY = "the broker does not know the sequence: continue with a new producer id"
    SPLIT = "too large: two halves"
    REJECTED = "certainly not appended, and it never will be"


_VERDICTS = {
    Error.NONE: Verdict.DONE,
    Error.DUPLICATE_SEQUENCE_NUMBER: Verdict.DONE,
    Error.OUT_OF_ORDER_SEQUENCE_NUMBER: Verdict.NEW_IDENTITY,
    Error.UNKNOWN_PRODUCER_ID: Verdict.NEW_IDENTITY,
    Error.INVALID_PRODUCER_EPOCH: Verdict.NEW_IDENTITY,
    Error.MESSAGE_TOO_LARGE: Verdict.SPLIT,
}

# The broker returns these before it appends. After any other error the records may still be in the log: a leader that
# steps down while followers catch up returns NOT_LEADER_OR_FOLLOWER for records that the next leader has.
NOT_APPENDED = frozenset(
    {
        Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
        Error.UNKNOWN_PRODUCER_ID,
        Error.INVALID_PRODUCER_EPOCH,
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


def verdict_of(error: Error, record_count: int, maybe_appended: bool) -> Verdict:
    """What to do with a batch of `record_count` records after the response `error`."""
    verdict = _VERDICTS.get(error, Verdict.AGAIN if error.retriable else Verdict.REJECTED)
    if verdict is Verdict.SPLIT and record_count < 2:
        return Verdict.REJECTED
    if verdict in (Verdict.NEW_IDENTITY, Verdict.SPLIT) and maybe_appended:
        return Verdict.REJECTED  # with other sequence numbers the broker could not recognize a duplicate
    return verdict
