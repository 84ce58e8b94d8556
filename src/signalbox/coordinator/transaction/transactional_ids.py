"""The transactional ids of one shard, and the checks of the producer id and epoch that every request has in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from signalbox.coordinator.transaction.transaction_state import TransactionState
from signalbox.coordinator.transaction.transactional_id import Transaction, TransactionalId
from signalbox.protocol.error_table import Error, KafkaError


class TransactionalIds:
    def __init__(self) -> None:
        self._entries: dict[str, TransactionalId] = {}
        self._open: dict[str, TransactionalId] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[TransactionalId]:
        """Iterates over a copy: entries may be added and removed meanwhile."""
        return iter(list(self._entries.values()))

    def open(self) -> list[TransactionalId]:
        """Those whose transaction is ongoing or prepared: a few of all ids, which are looked at every few seconds."""
        return list(self._open.values())

    def get(self, name: str) -> TransactionalId | None:
        return self._entries.get(name)

    def create(self, name: str, transaction: Transaction) -> TransactionalId:
        """An entry whose first record is not written yet: its producer epoch is -1."""
        self._entries[name] = entry = TransactionalId(name, transaction)
        return entry

    def replay(self, name: str, transaction: Transaction | None) -> None:
        """Apply a committed record; None is a tombstone."""
        self._open.pop(name, None)
        if transaction is None:
            self._entries.pop(name, None)
            return
        entry = self._entries.get(name)
        if entry is None:
            self._entries[name] = entry = TransactionalId(name, transaction)
        else:
            entry.replay(transaction)
        if transaction.state is TransactionState.ONGOING or transaction.state.is_prepared:
            self._open[name] = entry

    def count_by_state(self) -> Counter[str]:
        """Transactional ids by the name of their state."""
        return Counter(entry.current.state.value for entry in self._entries.values())

    # --- checks

    def of_producer(self, name: str, producer_id: int) -> TransactionalId:
        """The entry, if it has this producer id. Raises KafkaError: INVALID_PRODUCER_ID_MAPPING for another one;
        CONCURRENT_TRANSACTIONS for the new one that the producer gets when its transaction is complete."""
        entry = self._entries.get(name)
        if entry is None:
            raise KafkaError(Error.INVALID_PRODUCER_ID_MAPPING)
        transaction = entry.current
        if transaction.producer_id != producer_id:
            if transaction.state.is_prepared and transaction.next_producer_id == producer_id:
                raise KafkaError(Error.CONCURRENT_TRANSACTIONS)
            raise KafkaError(Error.INVALID_PRODUCER_ID_MAPPING)
        return entry

    def of_current_producer(self, name: str, producer_id: int, producer_epoch: int) -> TransactionalId:
        """The entry, if it has this producer id and epoch. Raises KafkaError as `of_producer`, and PRODUCER_FENCED."""
        entry = self.of_producer(name, producer_id)
        if entry.current.producer_epoch != producer_epoch:
            raise KafkaError(Error.PRODUCER_FENCED)
        return entry
