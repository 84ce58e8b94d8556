"""AddPartitionsToTxn 0–5 and AddOffsetsToTxn 0–4: partitions join a transaction, which begins with the first ones.

The verification of KIP-890 asks whether partitions are in a transaction, without adding them: a leader does so before
it appends the first batch of a producer's transaction. A partition that is not gets TRANSACTION_ABORTABLE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from signalbox.common.ids import TopicPartition
from signalbox.coordinator.decision import Decision
from signalbox.coordinator.transaction.transaction_state import TransactionState
from signalbox.coordinator.transaction.transactional_ids import TransactionalIds
from signalbox.protocol.error_table import Error, KafkaError


class AddPartitions:
    def __init__(self, ids: TransactionalIds, now_ms: Callable[[], int]) -> None:
        self._ids = ids
        self._now_ms = now_ms

    def add(
        self, name: str, producer: tuple[int, int], partitions: Iterable[TopicPartition], client_version: int
    ) -> Decision[None]:
        """`producer` = producer id and epoch. Raises KafkaError if the partitions cannot be added."""
        entry = self._ids.of_current_producer(name, *producer)
        entry.check_not_pending()
        transaction, added = entry.current, frozenset(partitions)
        if transaction.state.is_prepared:
            raise KafkaError(Error.CONCURRENT_TRANSACTIONS)
        if transaction.state is TransactionState.ONGOING and added <= transaction.partitions:
            return Decision(None)
        return entry.write(None, transaction.with_partitions(added, client_version, self._now_ms()))

    def verify(
        self, name: str, producer: tuple[int, int], partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Error]:
        """NONE or TRANSACTION_ABORTABLE by partition. Raises KafkaError if the producer is not that of the transaction.
        A change that is being written does not matter: the leader checks the producer again when it appends."""
        transaction = self._ids.of_current_producer(name, *producer).current
        if transaction.state.is_prepared:
            raise KafkaError(Error.CONCURRENT_TRANSACTIONS)
        return {
            partition: Error.NONE if partition in transaction.partitions else Error.TRANSACTION_ABORTABLE
            for partition in partitions
        }
