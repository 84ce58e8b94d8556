"""A log's state of idempotent producers (KIP-98): epoch, the last five batches, an open transaction.

    batch from a client                                       response
    ------------------------------------------------------   ----------------------------------------------
    older producer epoch                                      INVALID_PRODUCER_EPOCH
    same epoch, same first and last sequence as one of five   duplicate: the offsets of the first append
    same epoch, first sequence = last one + 1 (2^31-1 -> 0)   appended
    newer epoch, first sequence 0                             appended
    producer unknown (new, expired, deleted by retention)     appended with any sequence
    anything else                                             OUT_OF_ORDER_SEQUENCE_NUMBER

Followers and replays accept every batch that the leader appended. Entries are never changed, only replaced, so that a
group of appends that could not be written is undone by restoring the old entries.
"""

from __future__ import annotations

from signalbox.protocol.error_table import Error, KafkaError

NO_EPOCH = -1
NO_SEQUENCE = -1
NO_OFFSET = -1
MAX_SEQUENCE = 2**31 - 1
REMEMBERED_BATCHES = 5

# (first sequence, last sequence, last offset, offset delta, timestamp)
SequenceRange = tuple[int, int, int, int, int]


class ProducerEntry:
    """One producer's state. `transaction_first_offset` is -1 outside of a transaction."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "last_timestamp",
        "next_sequence",
        "producer_epoch",
        "transaction_first_offset",
    )

    def __init__(
        self,
        producer_epoch: int,
        batches: tuple[SequenceRange, ...],
        last_timestamp: int,
        coordinator_epoch: int = -1,
        transaction_first_offset: int = NO_OFFSET,
    ) -> None:
        self.producer_epoch = producer_epoch
        self.batches = batches
        self.last_timestamp = last_timestamp
        self.coordinator_epoch = coordinator_epoch
        self.transaction_first_offset = transaction_first_offset
        self.next_sequence = (batches[-1][1] + 1) & MAX_SEQUENCE if batches else NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record, -1 if no batch of this epoch is known."""
        return self.batches[-1][1] if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        """Offset of the last record, -1 if no batch is known."""
        return self.batches[-1][2] if self.batches else NO_OFFSET


class ProducerStates:
    """The producers of one log by id."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: dict[int, ProducerEntry] = {}

    def check(
        self, producer_id: int, producer_epoch: int, first_sequence: int, last_sequence: int
    ) -> SequenceRange | None:
        """Admits a client's batch (None) or returns the earlier batch that it repeats; KafkaError if it is rejected."""
        entry = self.entries.get(producer_id)
        if entry is None or entry.producer_epoch == NO_EPOCH:
            return None
        if producer_epoch < entry.producer_epoch:
            raise KafkaError(
                Error.INVALID_PRODUCER_EPOCH,
                f"producer {producer_id}: epoch {producer_epoch} is smaller than the last seen {entry.producer_epoch}",
            )
        if producer_epoch == entry.producer_epoch:
            for batch in entry.batches:
                if batch[0] == first_sequence and batch[1] == last_sequence:
                    return batch
            expected = entry.next_sequence if entry.batches else 0
        else:
            expected = 0
        if first_sequence != expected:
            raise KafkaError(
                Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {producer_id}, epoch {producer_epoch}: sequence {first_sequence} instead of {expected}",
            )
        return None

    def append(self, producer_id: int, producer_epoch: int, batch: SequenceRange, transactional: bool = False) -> None:
        """Records an appended batch."""
        entry = self.entries.get(producer_id)
        if entry is None:
            new = ProducerEntry(producer_epoch, (batch,), batch[4])
        elif entry.producer_epoch == producer_epoch:
            batches = (*entry.batches[1 - REMEMBERED_BATCHES :], batch)
            new = ProducerEntry(
                producer_epoch, batches, batch[4], entry.coordinator_epoch, entry.transaction_first_offset
            )
        else:
            new = ProducerEntry(
                producer_epoch, (batch,), batch[4], entry.coordinator_epoch, entry.transaction_first_offset
            )
        if transactional and new.transaction_first_offset == NO_OFFSET:
            new.transaction_first_offset = batch[2] - batch[3]
        self.entries[producer_id] = new

    def end_transaction(self, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp: int) -> int:
        """Records a transaction marker and returns the transaction's first offset, -1 if none was open."""
        entry = self.entries.get(producer_id)
        batches: tuple[SequenceRange, ...] = ()
        first_offset = NO_OFFSET
        if entry is not None:
            first_offset = entry.transaction_first_offset
            batches = entry.batches if entry.producer_epoch == producer_epoch else ()
        self.entries[producer_id] = ProducerEntry(producer_epoch, batches, timestamp, coordinator_epoch)
        return first_offset

    def restore(self, producer_id: int, entry: ProducerEntry | None) -> None:
        """Restores the state before a failed append, or the state of a snapshot."""
        if entry is None:
            self.entries.pop(producer_id, None)
        else:
            self.entries[producer_id] = entry

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Removes producers without a batch for `expiration_ms` and without an open transaction; returns how many."""
        expired = [
            producer_id
            for producer_id, entry in self.entries.items()
            if entry.transaction_first_offset == NO_OFFSET and now_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in expired:
            del self.entries[producer_id]
        return len(expired)
