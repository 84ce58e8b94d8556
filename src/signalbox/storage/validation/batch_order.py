"""The order of the batches of a log. No checksum covers a batch's base offset and leader epoch. These rules detect
corruption of them, in recovery and in later checks of a log.

Offsets: a batch begins where the one before it ends. Only compaction removes records from the middle of a log: below
`gaps_below` a batch may also begin later. Deleting records and retention move the start of a log, control batches have
offsets like others, so neither leaves a gap. A corrupt base offset may look like such a gap. If the next batch, or the
next segment, begins before that batch ends, the batch behind the gap is the corrupt one.

Leader epochs never decrease. If the leader epoch cache has the epoch of an offset, the batch must have the same one.
"""

from __future__ import annotations

from typing import NamedTuple

from signalbox.protocol.records.batch_header import BatchHeader
from signalbox.storage.leader_epochs import LeaderEpochs

NO_GAPS = 0
GAPS_ANYWHERE = 2**63 - 1


class BatchBehindGap(NamedTuple):
    """A batch that begins later than at `offset`, where the one before it ends. `position` is where it begins in its
    segment."""

    offset: int
    base_offset: int
    position: int

    def fault(self, next_base_offset: int) -> str:
        """The reason if its base offset is wrong."""
        return f"base offset {self.base_offset} instead of {self.offset}, offset {next_base_offset} follows"


class BatchOrder:
    """Follows the batches of a log; `next_offset` is where the next one begins."""

    __slots__ = ("_behind_gap", "_epochs", "_gaps_below", "_last_epoch", "_strict", "next_offset")

    def __init__(self, epochs: LeaderEpochs, gaps_below: int, next_offset: int, *, strict: bool = False) -> None:
        self._strict = strict  # the cache also has the latest epoch
        self._epochs = epochs
        self._gaps_below = gaps_below
        self._last_epoch = -1  # of batches that were written before leader epochs existed
        self._behind_gap: BatchBehindGap | None = None  # the last batch, if it is behind a gap
        self.next_offset = next_offset

    def fault(self, batch: BatchHeader) -> str | None:
        """What is wrong with the next batch. None: it is correct, and it becomes the last batch."""
        base_offset, epoch = batch.base_offset, batch.partition_leader_epoch
        if not self.may_begin_at(base_offset):
            return f"base offset {base_offset} instead of {self.next_offset}"
        if epoch < self._last_epoch:
            return f"leader epoch {epoch} after {self._last_epoch}"
        cached_epoch = self._epochs.epoch_of(base_offset)
        later = not self._strict and epoch > cached_epoch == self._epochs.latest
        if cached_epoch >= 0 and epoch != cached_epoch and not later:
            return f"leader epoch {epoch} instead of {cached_epoch}"
        self._last_epoch = epoch
        expected, self.next_offset = self.next_offset, batch.next_offset
        self._behind_gap = None if base_offset == expected else BatchBehindGap(expected, base_offset, batch.position)
        return None

    def corrupt_before(self, base_offset: int) -> BatchBehindGap | None:
        """The last batch, if it is behind a gap and a batch or segment that begins at `base_offset` contradicts it."""
        return self._behind_gap if base_offset < self.next_offset else None

    def continue_at(self, offset: int) -> None:
        """The log is known to continue at this offset: with a segment, or behind a batch that is not checked."""
        self.next_offset = max(self.next_offset, offset)
        self._behind_gap = None

    def may_begin_at(self, base_offset: int) -> bool:
        """Whether the next batch, or segment, may begin at this offset."""
        expected = self.next_offset
        return base_offset == expected or expected < base_offset <= self._gaps_below
