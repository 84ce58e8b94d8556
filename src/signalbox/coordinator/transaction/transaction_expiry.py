"""Time-outs of transactions, and the expiry of transactional ids.

A transaction that is ongoing for longer than its producer allowed is aborted with an epoch that fences the producer. A
transactional id without a transaction expires `transactional.id.expiration.ms` after its last record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from signalbox.coordinator.config_rows import TransactionSettings
from signalbox.coordinator.decision import Decision
from signalbox.coordinator.transaction.end_transaction import EndTransaction
from signalbox.coordinator.transaction.transaction_state import EXPIRING_STATES, TransactionState
from signalbox.coordinator.transaction.transactional_id import TransactionalId
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

    def abort_timed_out(self) -> Iterator[Decision[None]]:
        """One decision per transaction that has timed out."""
        for entry in self._ids:
            if entry.pending is None and self._is_timed_out(entry):
                yield self._end_transaction.fence(entry, None)

    def _is_timed_out(self, entry: TransactionalId) -> bool:
        transaction = entry.current
        ongoing = transaction.state is TransactionState.ONGOING
        return ongoing and transaction.started_ms + transaction.timeout_ms < self._now_ms()

    def remove_expired(self) -> Iterator[Decision[None]]:
        """One tombstone per transactional id that has expired."""
        for entry in self._ids:
            if entry.pending is None and self._is_expired(entry):
                yield entry.write(None, None)

    def _is_expired(self, entry: TransactionalId) -> bool:
        transaction = entry.current
        age_ms = self._now_ms() - transaction.updated_ms
        return transaction.state in EXPIRING_STATES and age_ms >= self._settings.id_expiration_ms
