"""The states of a transactional id, the transitions between them, and what each state means for EndTxn.

Every transition is in `TRANSITIONS`, which `TransactionalId.prepare` reads; it rejects any other. The EndTxn tables are
those of KIP-890: transaction version 2 can abort a transaction of which the coordinator has no partition, because the
producer does not know whether its first partition was added; and it recognises a retry by the producer epoch, which is
one behind. Both differ from the KIP while markers are being written: every EndTxn waits, as in Kafka (KAFKA-18464). The
producer may have begun its next transaction, and aborts it: it must not be fenced for that.
"""

from __future__ import annotations

from enum import Enum

from signalbox.protocol.error_table import Error


class TransactionState(Enum):
    """The value is the name in DescribeTransactions and ListTransactions."""

    EMPTY = "Empty"
    """No transaction since InitProducerId."""
    ONGOING = "Ongoing"
    """Partitions were added; the transaction timeout runs."""
    PREPARE_COMMIT = "PrepareCommit"
    """The transaction is committed; commit markers are being written to its partitions."""
    PREPARE_ABORT = "PrepareAbort"
    """The transaction is aborted; abort markers are being written to its partitions."""
    COMPLETE_COMMIT = "CompleteCommit"
    """All partitions have their commit marker."""
    COMPLETE_ABORT = "CompleteAbort"
    """All partitions have their abort marker."""
    DEAD = "Dead"
    """The transactional id expired: its tombstone is being written."""
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    """The producer is being fenced and its transaction aborted. Never in a record: PrepareAbort is written instead."""

    @property
    def is_prepared(self) -> bool:
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def code(self) -> int:
        """The number in a TransactionLogValue."""
        return STATE_CODES[self]


_S = TransactionState

STATE_CODES: dict[TransactionState, int] = {state: code for code, state in enumerate(TransactionState)}
STATES_BY_CODE: dict[int, TransactionState] = {code: state for state, code in STATE_CODES.items()}

TRANSITIONS: dict[TransactionState, frozenset[TransactionState]] = {
    _S.EMPTY: frozenset((_S.EMPTY, _S.ONGOING, _S.PREPARE_ABORT, _S.DEAD)),
    _S.ONGOING: frozenset((_S.ONGOING, _S.PREPARE_COMMIT, _S.PREPARE_ABORT, _S.PREPARE_EPOCH_FENCE)),
    _S.PREPARE_COMMIT: frozenset((_S.PREPARE_COMMIT, _S.COMPLETE_COMMIT)),
    _S.PREPARE_ABORT: frozenset((_S.PREPARE_ABORT, _S.COMPLETE_ABORT)),
    _S.COMPLETE_COMMIT: frozenset((_S.EMPTY, _S.ONGOING, _S.PREPARE_ABORT, _S.DEAD)),
    _S.COMPLETE_ABORT: frozenset((_S.EMPTY, _S.ONGOING, _S.PREPARE_ABORT, _S.DEAD)),
    _S.DEAD: frozenset(),
    _S.PREPARE_EPOCH_FENCE: frozenset((_S.PREPARE_ABORT,)),
}
"""A prepared state is written once more if the first write was not acknowledged (`prepared_transactions.py`)."""

EXPIRING_STATES = frozenset((_S.EMPTY, _S.COMPLETE_COMMIT, _S.COMPLETE_ABORT))
"""The states in which `transactional.id.expiration.ms` passes."""


class EndTxn(Enum):
    """What the coordinator does with an EndTxn."""

    PREPARE = "write PrepareCommit or PrepareAbort"
    PREPARE_EMPTY = "write PrepareAbort for a transaction without partitions"
    COMPLETED = "return success: a retry of a request that was completed"
    WAIT = "return CONCURRENT_TRANSACTIONS: the markers are being written"
    REJECT = "return INVALID_TXN_STATE"
    FENCE = "return PRODUCER_FENCED"


END_TXN_ERRORS: dict[EndTxn, Error] = {
    EndTxn.WAIT: Error.CONCURRENT_TRANSACTIONS,
    EndTxn.REJECT: Error.INVALID_TXN_STATE,
    EndTxn.FENCE: Error.PRODUCER_FENCED,
}

# (state, commit) -> what to do. Transaction versions 0 and 1.
END_TXN_V1: dict[tuple[TransactionState, bool], EndTxn] = {
    (_S.EMPTY, True): EndTxn.REJECT,
    (_S.EMPTY, False): EndTxn.REJECT,
    (_S.ONGOING, True): EndTxn.PREPARE,
    (_S.ONGOING, False): EndTxn.PREPARE,
    (_S.PREPARE_COMMIT, True): EndTxn.WAIT,
    (_S.PREPARE_COMMIT, False): EndTxn.WAIT,
    (_S.PREPARE_ABORT, True): EndTxn.WAIT,
    (_S.PREPARE_ABORT, False): EndTxn.WAIT,
    (_S.COMPLETE_COMMIT, True): EndTxn.COMPLETED,
    (_S.COMPLETE_COMMIT, False): EndTxn.REJECT,
    (_S.COMPLETE_ABORT, True): EndTxn.REJECT,
    (_S.COMPLETE_ABORT, False): EndTxn.COMPLETED,
}

# (state, commit) -> what to do with a retry, and what with a new request. Transaction version 2.
END_TXN_V2: dict[tuple[TransactionState, bool], tuple[EndTxn, EndTxn]] = {
    (_S.EMPTY, True): (EndTxn.FENCE, EndTxn.REJECT),
    (_S.EMPTY, False): (EndTxn.FENCE, EndTxn.PREPARE_EMPTY),
    (_S.ONGOING, True): (EndTxn.FENCE, EndTxn.PREPARE),
    (_S.ONGOING, False): (EndTxn.FENCE, EndTxn.PREPARE),
    (_S.PREPARE_COMMIT, True): (EndTxn.WAIT, EndTxn.WAIT),
    (_S.PREPARE_COMMIT, False): (EndTxn.WAIT, EndTxn.WAIT),
    (_S.PREPARE_ABORT, True): (EndTxn.WAIT, EndTxn.WAIT),
    (_S.PREPARE_ABORT, False): (EndTxn.WAIT, EndTxn.WAIT),
    (_S.COMPLETE_COMMIT, True): (EndTxn.COMPLETED, EndTxn.REJECT),
    (_S.COMPLETE_COMMIT, False): (EndTxn.REJECT, EndTxn.PREPARE_EMPTY),
    (_S.COMPLETE_ABORT, True): (EndTxn.REJECT, EndTxn.REJECT),
    (_S.COMPLETE_ABORT, False): (EndTxn.COMPLETED, EndTxn.PREPARE_EMPTY),
}
