"""The transactions of a pass over a log: which batches are aborted, which markers are still needed (Kafka's
CleanedTransactionMetadata).

Aborted transactions come from the transaction indexes. A batch is aborted if it is between the first offset and the
marker of an aborted transaction of its producer. A marker may be discarded when no batch of its transaction is left,
and `delete.retention.ms` after the round that found that. As long as it is needed, so is the entry of the transaction
index: `take_kept` returns those for the index of the new segment.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from signalbox.protocol.records.batch_header import TRANSACTIONAL_BIT, BatchHeader
from signalbox.protocol.records.transaction_marker import TransactionMarker
from signalbox.storage.segments.transaction_index import AbortedTransaction


class CleanedTransactions:
    """Takes the batches of a pass in order; a new one for each pass. `add` an aborted transaction before its first
    batch: the order, and repetitions before its marker, do not matter."""

    def __init__(self) -> None:
        self._coming: list[tuple[int, AbortedTransaction]] = []  # a heap by first offset
        self._aborted: dict[int, AbortedTransaction] = {}  # by producer id
        self._has_batches: set[int] = set()  # producers of which a batch was seen behind their last marker
        self._kept: list[AbortedTransaction] = []

    def add(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Adds entries of transaction indexes."""
        for transaction in aborted:
            heappush(self._coming, (transaction.first_offset, transaction))

    def is_aborted(self, batch: BatchHeader) -> bool:
        """Whether this batch of records was aborted."""
        if not batch.attributes & TRANSACTIONAL_BIT:
            return False
        self._begin_until(batch.base_offset)
        self._has_batches.add(batch.producer_id)
        transaction = self._aborted.get(batch.producer_id)
        return transaction is not None and batch.base_offset < transaction.last_offset

    def can_discard(self, batch: BatchHeader, marker: TransactionMarker | None) -> bool:
        """Whether this control batch is not needed any more: it has no record left, or it ends a transaction of which
        no batch was seen. `marker`: None for a control record of another kind."""
        if not batch.record_count:
            return True
        if marker is None:
            return False
        self._begin_until(batch.base_offset)
        has_batches = batch.producer_id in self._has_batches
        self._has_batches.discard(batch.producer_id)
        transaction = self._aborted.get(batch.producer_id)
        if transaction is not None and transaction.last_offset <= batch.base_offset:
            del self._aborted[batch.producer_id]
            if has_batches and transaction.last_offset == batch.base_offset:
                self._kept.append(transaction)
        # An emptied batch may have no entry. Without its marker, a replica that fetches it would have an open
        # transaction for ever.
        return not has_batches

    def take_kept(self) -> list[AbortedTransaction]:
        """The aborted transactions whose markers were passed since the last call and are needed, in their order."""
        kept, self._kept = self._kept, []
        return kept

    def _begin_until(self, offset: int) -> None:
        while self._coming and self._coming[0][0] <= offset:
            transaction = heappop(self._coming)[1]
            known = self._aborted.get(transaction.producer_id)
            if known is None or known.last_offset < transaction.last_offset:
                self._aborted[transaction.producer_id] = transaction
