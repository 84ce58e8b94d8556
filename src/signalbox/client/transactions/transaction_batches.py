"""What a transaction changes for the batches of its producer: when they may leave, with which identity, and that one
that fails is a failure of the transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from signalbox.client.failures import TransactionAborted
from signalbox.client.sender.producer_batch import PartitionQueue, ProducerBatch, ProducerIdentity
from signalbox.client.transactions.transaction_reactions import Step
from signalbox.client.transactions.transaction_sender import TransactionSender
from signalbox.client.transactions.transaction_state import TransactionState
from signalbox.common.ids import TopicPartition


class TransactionBatches:
    def __init__(self, transactions: TransactionSender, queues: Mapping[TopicPartition, PartitionQueue]) -> None:
        self._transactions = transactions
        self._manager = transactions.manager
        self._queues = queues
        self._identity: ProducerIdentity | None = None

    @property
    def must_not_linger(self) -> bool:
        """Whether the end of the transaction waits for the batches."""
        return self._manager.is_ending

    def admits(self, queue: PartitionQueue) -> bool:
        """Whether the first batch of a queue may leave."""
        return self._manager.may_send(queue.partition, again=queue.batches[0].attempts > 0)

    def drop_unsent(self) -> list[ProducerBatch]:
        """Fail the batches that never left, when the transaction is aborted or can only be; after a fatal error also
        those that wait for a retry. Returns them."""
        manager = self._manager
        if not manager.drops_batches:
            return []
        failure = manager.failure or TransactionAborted("the transaction was aborted before the record was sent")
        dropped = []
        for queue in self._queues.values():
            everything = manager.state is TransactionState.FATAL_ERROR and not queue.in_flight
            for batch in list(queue.batches) if everything else queue.unsent():
                queue.batches.remove(batch)
                batch.fail(failure)
                dropped.append(batch)
        if dropped:
            self._transactions.wake()
        return dropped

    def identity(self) -> ProducerIdentity | None:
        """The identity of the batches that leave now. A higher epoch restarts all sequences: no batch of the previous
        one is left then. None after a fatal error: the client is in another cluster."""
        if not self._transactions.is_in_cluster():
            return None
        identity = self._manager.identity
        if identity != self._identity:
            self._identity = identity
            for queue in self._queues.values():
                queue.restart()
        return identity

    def message(self, request: Any) -> tuple[Any, int | None]:
        """A Produce request as it is sent, and its newest version; a batch of the transaction is on its way."""
        request.transactional_id = self._transactions.transactional_id
        self._manager.batch_sent()
        return self._transactions.at_version(request, Step.PRODUCE)

    def failed(self, failure: Exception) -> None:
        """A batch was given up."""
        self._manager.batch_failed(failure)
        self._transactions.wake()
        self._transactions.on_change()

    def settled(self) -> None:
        """A response has arrived: batches may be acknowledged."""
        self._transactions.wake()
