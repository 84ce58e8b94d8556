"""Transactions whose markers are being written: from PrepareCommit or PrepareAbort to the Complete state.

The markers are requested when the prepared state is committed to the log, never before: a new coordinator that does not
have the record would abort the transaction. There are two ways to have the state without its commit: a new coordinator
has loaded the partition up to the end of its log, and a write of this coordinator was not acknowledged in time. In both
the record is written once more, and the markers are requested when that one is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from signalbox.coordinator.decision import Decision, nothing
from signalbox.coordinator.ports import Timer
from signalbox.coordinator.transaction.end_transaction import EndTransaction
from signalbox.coordinator.transaction.transactional_id import Transaction
from signalbox.coordinator.transaction.transactional_ids import TransactionalIds
from signalbox.protocol.error_table import Error

_RETRY_AFTER_MS = 1_000


class PreparedTransactions:
    def __init__(
        self, ids: TransactionalIds, end_transaction: EndTransaction, timer: Timer, now_ms: Callable[[], int]
    ) -> None:
        self._ids = ids
        self._end_transaction = end_transaction
        self._timer = timer
        self._now_ms = now_ms
        self._retrying: set[Hashable] = set()

    @property
    def retrying(self) -> int:
        """Transactions whose record could not be written and is written again later."""
        return len(self._retrying)

    def write_again(self) -> Iterator[Decision[None]]:
        """One decision per open transaction: its record if it is prepared and the markers for it have not been
        requested."""
        for entry in self._ids.open():
            yield self._write_again(entry.name)

    def _write_again(self, name: str) -> Decision[None]:
        entry = self._ids.get(name)
        if entry is None or entry.pending is not None or entry.markers_requested:
            return nothing()
        if not entry.current.state.is_prepared:
            return nothing()
        decision = self._end_transaction.prepare(entry, entry.current, None)
        self._retry_after_failure(decision, ("write again", name), lambda: self._write_again(name))
        return decision

    def complete(self, name: str, prepared: Transaction) -> Decision[None]:
        """All markers of `prepared` are written. Without effect if the entry has another state by now."""
        entry = self._ids.get(name)
        if entry is None or entry.current is not prepared or entry.pending is not None:
            return nothing()
        decision = entry.write(None, prepared.completed(self._now_ms()))
        self._retry_after_failure(decision, ("complete", name), lambda: self.complete(name, prepared))
        return decision

    def _retry_after_failure(
        self, decision: Decision[None], key: Hashable, decide: Callable[[], Decision[None]]
    ) -> None:
        """Have `decide` called again if the write of `decision` fails."""

        def retry_later(error: Error) -> None:
            self._retrying.add(key)
            self._timer.schedule(key, _RETRY_AFTER_MS, retry)

        def retry() -> Decision[None]:
            self._retrying.discard(key)
            return decide()

        decision.on_failure = retry_later
