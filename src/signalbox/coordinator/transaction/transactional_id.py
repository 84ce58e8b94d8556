"""A transactional id: its producer id and epoch, and the state of its transaction.

`Transaction` is what a record has; it never changes. `TransactionalId` is the shard's entry: the last committed record,
and the state that is being written. While a state is being written, every other change is rejected with
CONCURRENT_TRANSACTIONS; so a transactional id has one write in flight at most.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from signalbox.common.ids import TopicPartition
from signalbox.coordinator.decision import CoordinatorRecord, Decision, R
from signalbox.coordinator.transaction.transaction_state import TRANSITIONS, TransactionState
from signalbox.protocol.error_table import Error, KafkaError

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_TIMESTAMP = -1
MAX_EPOCH = 2**15 - 1
EPOCH_BUMP_FROM = 2  # the transaction version from which on every transaction has a producer epoch of its own


def is_exhausted(producer_epoch: int) -> bool:
    """Whether no client may get a higher epoch. The highest epoch of all is left for fencing the producer."""
    return producer_epoch >= MAX_EPOCH - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A record of `__transaction_state`. Times in milliseconds since the epoch.

    `previous_producer_id`: the one before this record. `next_producer_id`: the one that the producer got when its epoch
    was exhausted at the end of a transaction, until the transaction is complete. `last_producer_epoch`: the epoch that
    a retry of the last request has; it is not in the log, as in Kafka. `client_version`: the transaction version of the
    producer (KIP-890)."""

    producer_id: int
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    producer_epoch: int = NO_PRODUCER_EPOCH
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    partitions: frozenset[TopicPartition] = frozenset()
    started_ms: int = NO_TIMESTAMP
    updated_ms: int = NO_TIMESTAMP
    client_version: int = 0

    @property
    def is_epoch_exhausted(self) -> bool:
        return is_exhausted(self.producer_epoch)

    # --- the next record

    def initialized(self, producer_epoch: int, last_producer_epoch: int, timeout_ms: int, now_ms: int) -> Transaction:
        """After InitProducerId, with the same producer id."""
        return replace(
            self,
            state=TransactionState.EMPTY,
            producer_epoch=producer_epoch,
            last_producer_epoch=last_producer_epoch,
            previous_producer_id=self.producer_id,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            started_ms=NO_TIMESTAMP,
            updated_ms=now_ms,
        )

    def with_new_producer_id(
        self, producer_id: int, last_producer_epoch: int, timeout_ms: int, now_ms: int
    ) -> Transaction:
        """After InitProducerId, when the epochs of the producer id are exhausted."""
        return replace(self.initialized(0, last_producer_epoch, timeout_ms, now_ms), producer_id=producer_id)

    def with_partitions(self, partitions: Iterable[TopicPartition], client_version: int, now_ms: int) -> Transaction:
        """Partitions were added; the first ones begin the transaction."""
        return replace(
            self,
            state=TransactionState.ONGOING,
            previous_producer_id=self.producer_id,
            partitions=self.partitions.union(partitions),
            started_ms=self.started_ms if self.state is TransactionState.ONGOING else now_ms,
            updated_ms=now_ms,
            client_version=client_version,
        )

    def fenced(self) -> Transaction:
        """With the epoch that fences the producer, below transaction version 2. It is never given to a client, and not
        in a record of its own."""
        epoch = min(self.producer_epoch + 1, MAX_EPOCH)
        return replace(
            self,
            state=TransactionState.PREPARE_EPOCH_FENCE,
            producer_epoch=epoch,
            last_producer_epoch=NO_PRODUCER_EPOCH,
        )

    def prepared(self, commit: bool, client_version: int, next_producer_id: int, now_ms: int) -> Transaction:
        """The transaction is committed or aborted. Transaction version 2 raises the producer epoch (KIP-890)."""
        bump = client_version >= EPOCH_BUMP_FROM
        without_partitions = self.state not in (TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE)
        return replace(
            self,
            state=TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
            producer_epoch=min(self.producer_epoch + 1, MAX_EPOCH) if bump else self.producer_epoch,
            last_producer_epoch=self.producer_epoch if bump else self.last_producer_epoch,
            previous_producer_id=self.producer_id,
            next_producer_id=next_producer_id,
            started_ms=now_ms if without_partitions else self.started_ms,
            updated_ms=now_ms,
            client_version=client_version,
        )

    def completed(self, now_ms: int) -> Transaction:
        """All partitions have their markers. A new producer id, if there is one, begins with epoch 0."""
        committed = self.state is TransactionState.PREPARE_COMMIT
        rotates = self.client_version >= EPOCH_BUMP_FROM and self.next_producer_id != NO_PRODUCER_ID
        return replace(
            self,
            state=TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT,
            producer_id=self.next_producer_id if rotates else self.producer_id,
            producer_epoch=0 if rotates else self.producer_epoch,
            previous_producer_id=self.producer_id,
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
            updated_ms=now_ms,
        )


class TransactionalId:
    """The shard's entry of one transactional id. `pending`: the state that is being written.

    `markers_requested`: the markers of the prepared transaction are being sent by this coordinator."""

    __slots__ = ("current", "markers_requested", "name", "pending")

    def __init__(self, name: str, current: Transaction) -> None:
        self.name = name
        self.current = current
        self.pending: TransactionState | None = None
        self.markers_requested = False

    def check_not_pending(self) -> None:
        """Raises KafkaError(CONCURRENT_TRANSACTIONS) while another change is being written."""
        if self.pending is not None:
            raise KafkaError(Error.CONCURRENT_TRANSACTIONS)

    def write(self, response: R, following: Transaction | None) -> Decision[R]:
        """The decision that writes `following`, or the tombstone if it is None. ValueError for a transition that does
        not exist."""
        state = TransactionState.DEAD if following is None else following.state
        if self.pending is not None or state not in TRANSITIONS[self.current.state]:
            raise ValueError(
                f"{self.name}: no transition from {self.current.state} ({self.pending} pending) to {state}"
            )
        self.pending = state
        return Decision(response, [CoordinatorRecord(self.name, following)], on_concluded=self._concluded)

    def _concluded(self) -> None:
        """The record is replayed, or it is not in the log. After a timeout it may still be replayed: till then the
        state is pending."""
        self.pending = None

    def replay(self, committed: Transaction) -> None:
        self.current, self.pending, self.markers_requested = committed, None, False
