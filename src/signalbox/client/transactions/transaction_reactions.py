"""What the response to a request of a transaction means: a table. No I/O, no clock.

The rows are those of Kafka's clients. An error without a row is retried when it is retriable, else it is final, for
batches abortable. INVALID_PRODUCER_EPOCH of a leader is abortable (KIP-588): the coordinator decides, when the
transaction is aborted, whether another producer has taken the transactional id or the transaction has only timed out.
TRANSACTION_ABORTABLE asks for an abort. EndTxn with abort and InitProducerId are aborts, so they are retried.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from signalbox.protocol.error_table import Error


class Step(Enum):
    FIND_COORDINATOR = "FindCoordinator of the transactional id"
    FIND_GROUP_COORDINATOR = "FindCoordinator of the group"
    INIT = "InitProducerId"
    ADD_PARTITIONS = "AddPartitionsToTxn"
    ADD_OFFSETS = "AddOffsetsToTxn"
    COMMIT_OFFSETS = "TxnOffsetCommit"
    PRODUCE = "Produce"
    COMMIT = "EndTxn with commit"
    ABORT = "EndTxn with abort"


class Reaction(Enum):
    """In order of severity: of several errors in one response the last one here counts."""

    ACCEPT = "the response is applied"
    RETRY = "the same request again, after the retry backoff"
    FIND_COORDINATOR = "the coordinator is looked up again, then the same request"
    NOTHING_TO_ABORT = "the coordinator has no transaction of this producer: a higher epoch is asked for"
    ABORTABLE = "the transaction must be aborted"
    ABORTABLE_NEW_EPOCH = "the transaction must be aborted, and the producer needs a higher epoch"
    FENCED = "another producer has this transactional id: fatal"
    FATAL = "fatal"


_S, _R = Step, Reaction
_SEVERITY = {reaction: severity for severity, reaction in enumerate(Reaction)}

_AT_COORDINATOR = (_S.INIT, _S.ADD_PARTITIONS, _S.ADD_OFFSETS, _S.COMMIT_OFFSETS, _S.COMMIT, _S.ABORT)
_IN_TRANSACTION = (_S.ADD_PARTITIONS, _S.ADD_OFFSETS, _S.COMMIT_OFFSETS, _S.COMMIT)
_COORDINATOR_MOVED = (Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE)
_FENCED = (Error.INVALID_PRODUCER_EPOCH, Error.PRODUCER_FENCED)
_NOT_KNOWN = (Error.UNKNOWN_PRODUCER_ID, Error.INVALID_PRODUCER_ID_MAPPING)
_OF_GROUP_MEMBER = (
    Error.FENCED_INSTANCE_ID,
    Error.UNKNOWN_MEMBER_ID,
    Error.ILLEGAL_GENERATION,
    Error.STALE_MEMBER_EPOCH,
    Error.REBALANCE_IN_PROGRESS,
)
_OF_OFFSETS = (Error.OFFSET_METADATA_TOO_LARGE, Error.INVALID_COMMIT_OFFSET_SIZE, Error.INVALID_GROUP_ID)

REACTIONS: dict[tuple[Step, Error], Reaction] = {
    **{(step, Error.NONE): _R.ACCEPT for step in Step},
    **{(step, error): _R.FIND_COORDINATOR for step in _AT_COORDINATOR for error in _COORDINATOR_MOVED},
    **{(step, error): _R.FENCED for step in _AT_COORDINATOR for error in _FENCED},
    **{(step, error): _R.ABORTABLE_NEW_EPOCH for step in _IN_TRANSACTION for error in _NOT_KNOWN},
    **{(step, Error.TRANSACTION_ABORTABLE): _R.ABORTABLE for step in _IN_TRANSACTION},
    **{(step, Error.TRANSACTION_ABORTABLE): _R.RETRY for step in (_S.INIT, _S.ABORT)},
    **{(_S.ABORT, error): _R.NOTHING_TO_ABORT for error in (*_NOT_KNOWN, Error.INVALID_TXN_STATE)},
    **{(_S.COMMIT_OFFSETS, error): _R.ABORTABLE for error in (*_OF_GROUP_MEMBER, *_OF_OFFSETS)},
    (_S.COMMIT_OFFSETS, Error.REQUEST_TIMED_OUT): _R.FIND_COORDINATOR,
    (_S.COMMIT_OFFSETS, Error.TOPIC_AUTHORIZATION_FAILED): _R.ABORTABLE,
    (_S.COMMIT_OFFSETS, Error.GROUP_AUTHORIZATION_FAILED): _R.ABORTABLE,
    (_S.ADD_OFFSETS, Error.GROUP_AUTHORIZATION_FAILED): _R.ABORTABLE,
    (_S.ADD_OFFSETS, Error.INVALID_GROUP_ID): _R.ABORTABLE,
    (_S.FIND_GROUP_COORDINATOR, Error.GROUP_AUTHORIZATION_FAILED): _R.ABORTABLE,
    (_S.FIND_GROUP_COORDINATOR, Error.INVALID_GROUP_ID): _R.ABORTABLE,
    (_S.ADD_PARTITIONS, Error.OPERATION_NOT_ATTEMPTED): _R.RETRY,
    (_S.ADD_PARTITIONS, Error.TOPIC_AUTHORIZATION_FAILED): _R.ABORTABLE,
    (_S.ADD_PARTITIONS, Error.INVALID_TOPIC_EXCEPTION): _R.ABORTABLE,
    (_S.PRODUCE, Error.PRODUCER_FENCED): _R.FENCED,
    (_S.PRODUCE, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED): _R.FATAL,
    (_S.PRODUCE, Error.CLUSTER_AUTHORIZATION_FAILED): _R.FATAL,
    (_S.PRODUCE, Error.UNSUPPORTED_VERSION): _R.FATAL,
}


def reaction_to(step: Step, error: Error) -> Reaction:
    """What the producer does after `error` in the response of `step`; of PRODUCE, after a batch was given up."""
    if step is Step.PRODUCE:
        return REACTIONS.get((step, error), Reaction.ABORTABLE_NEW_EPOCH)
    return REACTIONS.get((step, error), Reaction.RETRY if error.retriable else Reaction.FATAL)


def gravest(step: Step, errors: Iterable[Error]) -> Error:
    """The error of a response with several ones that decides; NONE without any."""
    return max(errors, key=lambda error: _SEVERITY[reaction_to(step, error)], default=Error.NONE)
