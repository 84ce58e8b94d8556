"""Time-outs of transactions, and the expiry of transactional ids.

A transaction that is ongoing for longer than its producer allowed is aborted with an epoch that fences the producer, or
with a new producer id if the epochs are exhausted. A transactional id without a transaction expires
`transactional.id.expiration.ms` after its last record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from signalbox.coordinator.config_rows import TransactionSettings
from signalbox.coordinator.decision import Decision, nothing
from signalbox.coordinator.transaction.end_transaction import EndTransaction, ProducerIdNeeded
from signalbox.coordinator.transaction.transaction_state import EXPIRING_STATES, TransactionState
from signalbox.coordinator.transaction.transactional_id import NO_PRODUCER_ID, TransactionalId
from signalbox.coordinator.transaction.transactional_ids import TransactionalIds


class TransactionExpiry:
    def __init__(
        self,
        ids: TransactionalIds,
        end_transaction: EndTransaction,
        settings: TransactionSettings,
        now_ms: Callable[[], int],
    ) -> None:
        self._ids = ids
        self._end_transaction = end_transaction
        self._settings = settings
        self._now_ms = now_ms
        self._unwritten: dict[str, None] = {}  # the names of expired ids whose tombstone could not be written

    def abort_timed_out(self, take_producer_id: Callable[[str], None]) -> Iterator[Decision[None]]:
        """One decision per open transaction, which aborts it if it has timed out. `take_producer_id` is
        called with the name of each one that needs a new producer id for it: then `abort` must be called."""
        for entry in self._ids.open():
            try:
                decision = self.abort(entry.name)
            except ProducerIdNeeded:
                take_producer_id(entry.name)
                decision = nothing()
            yield decision

    def abort(self, name: str, new_producer_id: int = NO_PRODUCER_ID) -> Decision[None]:
        """Aborts the transaction of `name` if it has timed out. Raises ProducerIdNeeded as `EndTransaction.fence`."""
        entry = self._ids.get(name)
        if entry is None or entry.pending is not None or not self._is_timed_out(entry):
            return nothing()
        return self._end_transaction.fence(entry, None, new_producer_id)

    def _is_timed_out(self, entry: TransactionalId) -> bool:
        transaction = entry.current
        ongoing = transaction.state is TransactionState.ONGOING
        return ongoing and transaction.started_ms + transaction.timeout_ms < self._now_ms()

    def remove_expired(self) -> Iterator[Decision[None]]:
        """One decision per transactional id: a tombstone if it has expired."""
        for entry in self._ids:
            yield self._remove(entry.name)

    def remove_unwritten(self) -> Iterator[Decision[None]]:
        """The tombstones that could not be written, once more: the next `remove_expired` is an hour away."""
        names, self._unwritten = self._unwritten, {}
        for name in names:
            yield self._remove(name)

    def _remove(self, name: str) -> Decision[None]:
        entry = self._ids.get(name)
        if entry is None or entry.pending is not None or not self._is_expired(entry):
            return nothing()
        decision = entry.write(None, None)
        decision.on_failure = lambda error: self._unwritten.setdefault(name)
        return decision

    def _is_expired(self, entry: TransactionalId) -> bool:
        transaction = entry.current
        age_ms = self._now_ms() - transaction.updated_ms
        return transaction.state in EXPIRING_STATES and age_ms >= self._settings.id_expiration_ms
