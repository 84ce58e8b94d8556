"""InitProducerId 0–5 with a transactional id: a producer id and a new epoch, which fences earlier producers.

An ongoing transaction is aborted first, with an epoch that this producer does not get; it retries after
CONCURRENT_TRANSACTIONS. A producer that gives its present id and epoch recovers from an error of its own (KIP-360): it
is fenced if another producer has been initialized since, and a retry gets the same epoch again. When the epochs of a
producer id are exhausted, the producer gets a new id.
"""

from __future__ import annotations

from collections.abc import Callable

from signalbox.coordinator.decision import Decision
from signalbox.coordinator.transaction.end_transaction import EndTransaction, ProducerIdNeeded
from signalbox.coordinator.transaction.transaction_state import TransactionState
from signalbox.coordinator.transaction.transactional_id import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
    TransactionalId,
    is_exhausted,
)
from signalbox.coordinator.transaction.transactional_ids import TransactionalIds
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


class InitProducerId:
    def __init__(
        self,
        ids: TransactionalIds,
        end_transaction: EndTransaction,
        now_ms: Callable[[], int],
    ) -> None:
        self._ids = ids
        self._end_transaction = end_transaction
        self._now_ms = now_ms

    def init(self, request: InitProducerIdRequest, new_producer_id: int) -> Decision[InitProducerIdResponse]:
        """`new_producer_id` = -1 the first time; raises ProducerIdNeeded if the decision must be taken with one.
        Raises KafkaError if the producer gets no id."""
        entry = self._ids.get(request.transactional_id or "")
        if entry is None:
            entry = self._create(request, new_producer_id)
        entry.check_not_pending()
        if not self._may_have_sent(request, entry.current):
            raise KafkaError(Error.PRODUCER_FENCED)
        if entry.current.state.is_prepared:
            raise KafkaError(Error.CONCURRENT_TRANSACTIONS)
        if entry.current.state is TransactionState.ONGOING:
            return self._end_transaction.fence(
                entry,
                InitProducerIdResponse(error_code=Error.CONCURRENT_TRANSACTIONS, producer_epoch=NO_PRODUCER_EPOCH),
                new_producer_id,
            )
        following = self._initialized(request, entry.current, new_producer_id)
        response = InitProducerIdResponse(producer_id=following.producer_id, producer_epoch=following.producer_epoch)
        return entry.write(response, following)

    def _create(self, request: InitProducerIdRequest, new_producer_id: int) -> TransactionalId:
        if new_producer_id == NO_PRODUCER_ID:
            raise ProducerIdNeeded
        created = Transaction(
            producer_id=new_producer_id, timeout_ms=request.transaction_timeout_ms, updated_ms=self._now_ms()
        )
        return self._ids.create(request.transactional_id or "", created)

    def _may_have_sent(self, request: InitProducerIdRequest, transaction: Transaction) -> bool:
        """Whether the producer id of the request, if it has one, is the current one, or the previous one with exhausted
        epochs. Any id is accepted for a transactional id that is new: the coordinator had forgotten it."""
        if request.producer_id == NO_PRODUCER_ID or transaction.producer_epoch == NO_PRODUCER_EPOCH:
            return True
        if request.producer_id == transaction.producer_id:
            return True
        return request.producer_id == transaction.previous_producer_id and is_exhausted(request.producer_epoch)

    def _initialized(
        self, request: InitProducerIdRequest, transaction: Transaction, new_producer_id: int
    ) -> Transaction:
        recovers = request.producer_id != NO_PRODUCER_ID
        epoch, timeout_ms, now_ms = transaction.producer_epoch, request.transaction_timeout_ms, self._now_ms()
        if transaction.is_epoch_exhausted and (not recovers or request.producer_epoch == epoch):
            if new_producer_id == NO_PRODUCER_ID:
                raise ProducerIdNeeded
            last_epoch = epoch if recovers else NO_PRODUCER_EPOCH
            return transaction.with_new_producer_id(new_producer_id, last_epoch, timeout_ms, now_ms)
        if not recovers:
            return transaction.initialized(epoch + 1, NO_PRODUCER_EPOCH, timeout_ms, now_ms)
        if epoch in (NO_PRODUCER_EPOCH, request.producer_epoch):
            return transaction.initialized(epoch + 1, epoch, timeout_ms, now_ms)
        if request.producer_epoch == transaction.last_producer_epoch:  # a retry: no other producer came between
            return transaction.initialized(epoch, transaction.last_producer_epoch, timeout_ms, now_ms)
        raise KafkaError(Error.PRODUCER_FENCED)
