"""A log's state of idempotent and transactional producers (KIP-98): epoch, the last five batches, an open transaction.

    batch from a client                                       response
    ------------------------------------------------------   ----------------------------------------------
    same epoch, same first and last sequence as one of five   duplicate: the offsets of the first append
    the same, but that one's transaction has ended            INVALID_TXN_STATE
    older producer epoch                                      INVALID_PRODUCER_EPOCH
    transactional, the first of its transaction, and not      INVALID_TXN_STATE
    verified (`transaction_verification.py`)
    same epoch, first sequence = last one + 1 (2^31-1 -> 0)   appended
    newer epoch, first sequence 0                             appended
    producer unknown (new, expired, deleted by retention)     appended with any sequence
    any other sequence                                        OUT_OF_ORDER_SEQUENCE_NUMBER
    not transactional, while its transaction is open          INVALID_TXN_STATE

    batch from a coordinator of this broker                   response
    ------------------------------------------------------   ----------------------------------------------
    records without a sequence (offsets of a transaction)     as above, sequences are not checked
    marker with an older producer epoch                       INVALID_PRODUCER_EPOCH
    marker with the same epoch, transaction version 2         INVALID_PRODUCER_EPOCH if a transaction is open (KIP-890:
                                                              the epoch is raised first), else appended: a repetition
    marker with an older coordinator epoch                    TRANSACTION_COORDINATOR_FENCED

A transaction is *ongoing* from its first batch to its marker, and *unreplicated* until the high watermark has passed
the marker. The first offset of the oldest of both kinds limits the last stable offset.

A producer ends a transaction when all its batches have responses, so a batch behind the marker repeats none of them
(decision 0058).

Followers and replays accept every batch that the leader appended. Entries are never changed, only replaced, so that a
group of appends that could not be written is undone by restoring the old entries.
"""

from __future__ import annotations

from itertools import takewhile

from signalbox.protocol.error_table import Error, KafkaError

NO_EPOCH = -1
NO_SEQUENCE = -1
NO_OFFSET = -1
MAX_SEQUENCE = 2**31 - 1
REMEMBERED_BATCHES = 5
NO_UNSTABLE_OFFSET = 2**63 - 1
_RAISED_EPOCHS_FROM = 2  # transaction version: the coordinator raises the producer epoch before it writes a marker

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
    """The producers of one log by id, and their transactions.

    `ongoing`: producer ids by the first offsets of their transactions, ascending. `unreplicated`: the offset of the
    marker by the first offset, in the order of the markers.
    """

    __slots__ = ("_least_unreplicated", "entries", "ongoing", "unreplicated")

    def __init__(self) -> None:
        self.entries: dict[int, ProducerEntry] = {}
        self.ongoing: dict[int, int] = {}
        self.unreplicated: dict[int, int] = {}
        self._least_unreplicated: int | None = None  # of the first offsets; None: not known

    def duplicate_of(self, producer_id: int, producer_epoch: int, first: int, last: int) -> SequenceRange | None:
        """The earlier batch with the same sequences, from `first` to `last`."""
        entry = self.entries.get(producer_id)
        if entry is not None and entry.producer_epoch == producer_epoch:
            for batch in entry.batches:
                if batch[0] == first and batch[1] == last:
                    return batch
        return None

    def reject_of_ended_transaction(self, producer_id: int, duplicate: SequenceRange) -> None:
        """Raises KafkaError(INVALID_TXN_STATE) if the earlier batch is not one of the open transaction."""
        open_since = self.entries[producer_id].transaction_first_offset
        if open_since == NO_OFFSET or duplicate[2] < open_since:
            raise KafkaError(
                Error.INVALID_TXN_STATE,
                f"producer {producer_id}: sequences {duplicate[0]} to {duplicate[1]} are of a transaction that has"
                " ended",
            )

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether this epoch of the producer has an open transaction."""
        entry = self.entries.get(producer_id)
        return (
            entry is not None and entry.producer_epoch == producer_epoch and entry.transaction_first_offset != NO_OFFSET
        )

    def check_epoch(self, producer_id: int, producer_epoch: int) -> None:
        """Raises KafkaError(INVALID_PRODUCER_EPOCH) if the log has a later epoch of the producer."""
        entry = self.entries.get(producer_id)
        if entry is not None and producer_epoch < entry.producer_epoch:
            raise KafkaError(
                Error.INVALID_PRODUCER_EPOCH,
                f"producer {producer_id}: epoch {producer_epoch} is smaller than the last seen {entry.producer_epoch}",
            )

    def check(
        self,
        producer_id: int,
        producer_epoch: int,
        first_sequence: int,
        *,
        is_transactional: bool = False,
        checks_sequence: bool = True,
    ) -> None:
        """Admits a batch that is not a duplicate; KafkaError if it is rejected. `checks_sequence` False: the batch is
        a coordinator's."""
        self.check_epoch(producer_id, producer_epoch)
        entry = self.entries.get(producer_id)
        if entry is None or entry.producer_epoch == NO_EPOCH:
            return
        same_epoch = producer_epoch == entry.producer_epoch
        expected = entry.next_sequence if same_epoch and entry.batches else 0
        if checks_sequence and first_sequence != expected:
            raise KafkaError(
                Error.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {producer_id}, epoch {producer_epoch}: sequence {first_sequence} instead of {expected}",
            )
        if entry.transaction_first_offset != NO_OFFSET and not is_transactional:
            raise KafkaError(
                Error.INVALID_TXN_STATE, f"Expected transactional write from producer {producer_id}: its transaction"
                f" is open since offset {entry.transaction_first_offset}",
            )  # fmt: skip

    def check_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, transaction_version: int
    ) -> None:
        """Admits a transaction marker; KafkaError if it comes too late, or from an old coordinator."""
        entry = self.entries.get(producer_id)
        if entry is None:
            return
        is_repeated = producer_epoch == entry.producer_epoch and entry.transaction_first_offset == NO_OFFSET
        must_be_raised = transaction_version >= _RAISED_EPOCHS_FROM and not is_repeated
        if producer_epoch < entry.producer_epoch + must_be_raised:
            raise KafkaError(
                Error.INVALID_PRODUCER_EPOCH,
                f"producer {producer_id}: a marker of epoch {producer_epoch}, the last seen epoch is"
                f" {entry.producer_epoch} (transaction version {transaction_version})",
            )
        if coordinator_epoch < entry.coordinator_epoch:
            raise KafkaError(
                Error.TRANSACTION_COORDINATOR_FENCED,
                f"producer {producer_id}: a marker of coordinator epoch {coordinator_epoch}, the last seen is"
                f" {entry.coordinator_epoch}",
            )

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
            self.ongoing[new.transaction_first_offset] = producer_id
        self.entries[producer_id] = new

    def end_transaction(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp: int, marker_offset: int
    ) -> int:
        """Records a transaction marker and returns the transaction's first offset, -1 if none was open."""
        entry = self.entries.get(producer_id)
        batches: tuple[SequenceRange, ...] = ()
        first_offset = NO_OFFSET
        if entry is not None:
            first_offset = entry.transaction_first_offset
            batches = entry.batches if entry.producer_epoch == producer_epoch else ()
        self.entries[producer_id] = ProducerEntry(producer_epoch, batches, timestamp, coordinator_epoch)
        if first_offset != NO_OFFSET:
            self.ongoing.pop(first_offset, None)
            self.unreplicated[first_offset] = marker_offset
            if self._least_unreplicated is not None:
                self._least_unreplicated = min(self._least_unreplicated, first_offset)
        return first_offset

    def first_ongoing_offset(self) -> int:
        """Where the oldest open transaction begins; `NO_UNSTABLE_OFFSET` if there is none."""
        return next(iter(self.ongoing), NO_UNSTABLE_OFFSET)

    def oldest_transaction_ms(self) -> int:
        """The timestamp of the last batch of the producer whose open transaction began first; -1 if none is open."""
        producer_id = next(iter(self.ongoing.values()), None)
        return -1 if producer_id is None else self.entries[producer_id].last_timestamp

    def forget_replicated(self, high_watermark: int) -> None:
        """Removes the ended transactions whose markers are below `high_watermark`."""
        unreplicated = self.unreplicated
        replicated = [first for first, _ in takewhile(lambda row: row[1] < high_watermark, unreplicated.items())]
        for first_offset in replicated:
            del unreplicated[first_offset]
        if replicated:
            self._least_unreplicated = None

    def first_unstable_offset(self, high_watermark: int) -> int:
        """Where the oldest transaction begins that is open, or whose marker is not below `high_watermark`;
        `NO_UNSTABLE_OFFSET` if there is none."""
        self.forget_replicated(high_watermark)
        if not self.unreplicated:
            return self.first_ongoing_offset()
        if self._least_unreplicated is None:
            self._least_unreplicated = min(self.unreplicated)
        return min(self.first_ongoing_offset(), self._least_unreplicated)

    def restore(self, producer_id: int, entry: ProducerEntry | None) -> None:
        """Restores the state before a failed append, or the state of a snapshot; `restore_transactions` must follow."""
        if entry is None:
            self.entries.pop(producer_id, None)
        else:
            self.entries[producer_id] = entry

    def restore_transactions(self, end_offset: int = NO_UNSTABLE_OFFSET) -> None:
        """Rebuilds the transactions from restored entries; markers from `end_offset` on are gone."""
        open_entries = ((e.transaction_first_offset, producer_id) for producer_id, e in self.entries.items())
        self.ongoing = dict(sorted(row for row in open_entries if row[0] != NO_OFFSET))
        self.unreplicated = {first: marker for first, marker in self.unreplicated.items() if marker < end_offset}
        self._least_unreplicated = None

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
