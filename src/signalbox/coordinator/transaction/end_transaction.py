"""EndTxn 0–5, and the abort of a transaction whose producer is fenced.

The decision writes PrepareCommit or PrepareAbort. From that record on the result is certain; its effect has the markers
sent to the partitions (`prepared_transactions.py`), and the producer gets its response without waiting for them.
With transaction version 2 (EndTxn 5) each transaction ends with a higher producer epoch, which the response has, or
with a new producer id when the epochs are exhausted.
"""

from __future__ import annotations

from collections.abc import Callable

from signalbox.coordinator.decision import Decision, R
from signalbox.coordinator.transaction.transaction_state import (
    END_TXN_ERRORS,
    END_TXN_V1,
    END_TXN_V2,
    EndTxn,
)
from signalbox.coordinator.transaction.transactional_id import (
    EPOCH_BUMP_FROM,
    MAX_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
    TransactionalId,
)
from signalbox.coordinator.transaction.transactional_ids import TransactionalIds
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse


class ProducerIdNeeded(Exception):
    """The decision needs a new producer id: it must be taken again with one."""


class EndTransaction:
    """`send_markers` is called with an entry whose prepared state is committed. `level` returns the finalized
    `transaction.version`, which transactions that the coordinator itself aborts have."""

    def __init__(
        self,
        ids: TransactionalIds,
        send_markers: Callable[[TransactionalId], None],
        level: Callable[[], int],
        now_ms: Callable[[], int],
    ) -> None:
        self._ids = ids
        self._send_markers = send_markers
        self._level = level
        self._now_ms = now_ms

    def end(
        self, request: EndTxnRequest, client_version: int, new_producer_id: int = NO_PRODUCER_ID
    ) -> Decision[EndTxnResponse]:
        """Raises ProducerIdNeeded if the decision must be taken with a new producer id, and KafkaError if the
        transaction cannot be ended in this way."""
        bumps_epoch = client_version >= EPOCH_BUMP_FROM
        entry, action = self._bumping_epoch(request) if bumps_epoch else self._keeping_epoch(request)
        if action is EndTxn.FENCE:
            raise KafkaError(Error.PRODUCER_FENCED)
        entry.check_not_pending()
        if action in END_TXN_ERRORS:
            raise KafkaError(END_TXN_ERRORS[action])
        if action is EndTxn.COMPLETED:
            return Decision(_response(entry.current, bumps_epoch))
        next_producer_id = _next_producer_id(entry, new_producer_id) if bumps_epoch else NO_PRODUCER_ID
        prepared = entry.current.prepared(request.committed, client_version, next_producer_id, self._now_ms())
        return self.prepare(entry, prepared, _response(prepared.completed(prepared.updated_ms), bumps_epoch))

    def fence(self, entry: TransactionalId, response: R, new_producer_id: int = NO_PRODUCER_ID) -> Decision[R]:
        """Fence the producer of an ongoing transaction and abort it. Raises ProducerIdNeeded as `end` does.

        The epoch is raised once. With transaction version 2 that is the epoch of every transaction's end: a producer
        whose transaction has timed out goes on when it aborts it (KAFKA-19367)."""
        level, current = self._level(), entry.current
        if level >= EPOCH_BUMP_FROM:
            prepared = current.prepared(False, level, _next_producer_id(entry, new_producer_id), self._now_ms())
        else:
            prepared = current.fenced().prepared(False, level, NO_PRODUCER_ID, self._now_ms())
        return self.prepare(entry, prepared, response)

    def prepare(self, entry: TransactionalId, prepared: Transaction, response: R) -> Decision[R]:
        """The decision that writes `prepared` and then has the markers sent."""
        decision = entry.write(response, prepared)
        decision.effects.append(lambda: self._send_markers(entry))
        return decision

    def _keeping_epoch(self, request: EndTxnRequest) -> tuple[TransactionalId, EndTxn]:
        entry = self._ids.of_current_producer(request.transactional_id, request.producer_id, request.producer_epoch)
        return entry, END_TXN_V1[entry.current.state, request.committed]

    def _bumping_epoch(self, request: EndTxnRequest) -> tuple[TransactionalId, EndTxn]:
        """A retry has the epoch before that of the record; or the last one of the previous producer id."""
        entry = self._ids.get(request.transactional_id)
        transaction = None if entry is None else entry.current
        if entry is not None and transaction is not None and _is_retry_after_rotation(request, transaction):
            return entry, END_TXN_V2[transaction.state, request.committed][0]
        entry = self._ids.of_producer(request.transactional_id, request.producer_id)
        retry, new = END_TXN_V2[entry.current.state, request.committed]
        behind = entry.current.producer_epoch - request.producer_epoch
        return entry, {0: new, 1: retry}.get(behind, EndTxn.FENCE)


def _next_producer_id(entry: TransactionalId, new_producer_id: int) -> int:
    """The producer id for the next transaction, -1 if it stays. Raises ProducerIdNeeded."""
    if not entry.current.is_epoch_exhausted:
        return NO_PRODUCER_ID
    if new_producer_id == NO_PRODUCER_ID:
        raise ProducerIdNeeded
    return new_producer_id


def _is_retry_after_rotation(request: EndTxnRequest, transaction: Transaction) -> bool:
    return (
        transaction.producer_epoch == 0
        and request.producer_id == transaction.previous_producer_id
        and request.producer_epoch == MAX_EPOCH - 1
    )


def _response(transaction: Transaction, bumps_epoch: bool) -> EndTxnResponse:
    """Producer id and epoch of the next transaction; -1 below version 5."""
    if not bumps_epoch:
        return EndTxnResponse()
    return EndTxnResponse(producer_id=transaction.producer_id, producer_epoch=transaction.producer_epoch)
