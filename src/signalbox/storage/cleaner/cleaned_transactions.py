"""The transactions of the part of a log that is compacted: which batches are aborted, which markers are still needed.

Kafka reads aborted transactions from the transaction index. The markers themselves say the same, and every log has
them: `TransactionScan` reads the headers of the dirty part once, as soon as it has a transactional batch, and what
follows up to the high watermark if a marker is missing. (In the part that was compacted before, no aborted record is
left.) A transaction without a marker is undecided: nothing from its first batch on may be compacted.

Kafka's rules for markers (`CleanedTransactions`): the marker of a transaction may be deleted when no batch of the
transaction is left, and `delete.retention.ms` after the round that found that.
"""

from __future__ import annotations

from typing import NamedTuple

from signalbox.protocol.records.batch_header import TRANSACTIONAL_BIT, BatchHeader

ABORT_MARKER, COMMIT_MARKER = 0, 1


class AbortedTransaction(NamedTuple):
    """From the first batch to the marker, both offsets inclusive."""

    first_offset: int
    last_offset: int
    producer_id: int


class TransactionScan:
    """Takes the batches of the dirty part, in order."""

    def __init__(self) -> None:
        self.aborted: list[AbortedTransaction] = []
        self._open: dict[int, int] = {}

    def add(self, batch: BatchHeader, marker: int | None) -> None:
        """A transactional batch, or a control batch with its `marker` type: None if the leader has removed its record,
        other types end no transaction."""
        if not batch.is_control:
            self._open.setdefault(batch.producer_id, batch.base_offset)
            return
        if marker not in (ABORT_MARKER, COMMIT_MARKER):
            return
        first_offset = self._open.pop(batch.producer_id, None)
        if marker == ABORT_MARKER and first_offset is not None:
            self.aborted.append(AbortedTransaction(first_offset, batch.last_offset, batch.producer_id))

    @property
    def undecided_from(self) -> int | None:
        """The first offset of the transactions without a marker."""
        return min(self._open.values(), default=None)


class CleanedTransactions:
    """Takes the batches of a pass in order; a new one for each pass."""

    def __init__(self, aborted: list[AbortedTransaction]) -> None:
        self._coming = sorted(aborted, reverse=True)  # the next one is the last element
        self._aborted: dict[int, bool] = {}  # by producer id: whether a batch of it was seen
        self._committed: set[int] = set()

    def is_aborted(self, batch: BatchHeader) -> bool:
        """Whether this batch of records was aborted."""
        if not batch.attributes & TRANSACTIONAL_BIT:
            return False
        self._begin_until(batch.last_offset)
        if batch.producer_id in self._aborted:
            self._aborted[batch.producer_id] = True
            return True
        self._committed.add(batch.producer_id)
        return False

    def is_superfluous(self, batch: BatchHeader, marker: int | None) -> bool:
        """Whether no batch of the transaction that this control batch ends was seen. `marker`: None if the batch has no
        record left."""
        self._begin_until(batch.last_offset)
        if marker is None:
            return True
        if marker not in (ABORT_MARKER, COMMIT_MARKER):
            return False
        # A batch that an earlier round has emptied does not count as aborted. Without its marker, a replica that
        # fetches it would have an open transaction.
        seen = batch.producer_id in self._committed
        self._committed.discard(batch.producer_id)
        if marker == ABORT_MARKER:
            seen |= self._aborted.pop(batch.producer_id, False)
        return not seen

    def _begin_until(self, offset: int) -> None:
        while self._coming and self._coming[-1].first_offset <= offset:
            self._aborted.setdefault(self._coming.pop().producer_id, False)
