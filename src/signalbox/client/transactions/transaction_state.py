"""The states of a transactional producer and the transitions between them, those of Kafka's TransactionManager.

Every transition is in `TRANSITIONS`, which `TransactionManager` reads; another one raises.
"""

from __future__ import annotations

from enum import Enum


class TransactionState(Enum):
    UNINITIALIZED = "init_transactions was not called"
    INITIALIZING = "InitProducerId is asked for: the first time, or for a higher epoch after an abort"
    READY = "no transaction is open"
    IN_TRANSACTION = "records and offsets are accepted"
    COMMITTING = "all batches are acknowledged, then EndTxn is sent, until the coordinator accepts it"
    ABORTING = "batches that were never sent are dropped, the others are waited for, then EndTxn is sent"
    ABORTABLE_ERROR = "the transaction can only be aborted"
    FATAL_ERROR = "the producer can only be closed"


_S = TransactionState

TRANSITIONS: dict[TransactionState, frozenset[TransactionState]] = {
    _S.UNINITIALIZED: frozenset((_S.INITIALIZING, _S.FATAL_ERROR)),
    _S.INITIALIZING: frozenset((_S.READY, _S.FATAL_ERROR)),
    _S.READY: frozenset((_S.IN_TRANSACTION, _S.FATAL_ERROR)),
    _S.IN_TRANSACTION: frozenset((_S.COMMITTING, _S.ABORTING, _S.ABORTABLE_ERROR, _S.FATAL_ERROR)),
    _S.COMMITTING: frozenset((_S.READY, _S.ABORTING, _S.ABORTABLE_ERROR, _S.FATAL_ERROR)),
    _S.ABORTING: frozenset((_S.READY, _S.INITIALIZING, _S.FATAL_ERROR)),
    _S.ABORTABLE_ERROR: frozenset((_S.ABORTING, _S.FATAL_ERROR)),
    _S.FATAL_ERROR: frozenset(),
}

OPEN = frozenset((_S.IN_TRANSACTION, _S.COMMITTING))
"""The states in which a batch may be sent for the first time."""

FAILED = frozenset((_S.ABORTABLE_ERROR, _S.FATAL_ERROR))
"""The states with a failure, which the calls of the application raise."""

RETRYING = OPEN | {_S.ABORTING, _S.ABORTABLE_ERROR}
"""The states in which a batch that was sent is retried: its result must be known before the transaction ends."""
