"""Finds corruption in a log: its first corrupt batch, by a check of a part of the log.

Reads do not check what they return (it goes from the file to the socket). So a check runs when a follower requests
again what it has received, when a read finds no batch where one must be, and in the scrub.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.log_append import LogAppends
from signalbox.storage.log_body import LogBody
from signalbox.storage.validation.batch_order import BatchOrder
from signalbox.storage.validation.corruption import Corruption, SegmentCheck

_log = logging.getLogger(__name__)

_CHECKED_BYTES = 1 << 20  # from the last index entry before an offset on


class LogChecks(LogAppends):
    """`corruption` is the first known corrupt batch; `on_corrupt` is called when one is found."""

    __slots__ = ("corruption", "on_corrupt", "topic_partition")

    def __init__(self, topic_partition: TopicPartition, body: LogBody, next_offset: int) -> None:
        super().__init__(body, next_offset)
        self.topic_partition = topic_partition
        self.corruption: Corruption | None = None
        self.on_corrupt: Callable[[], None] | None = None

    def report_corruption(self, corruption: Corruption) -> None:
        """Records and logs a corrupt batch. Replication decides about the consequences."""
        if self.corruption is not None and self.corruption.offset <= corruption.offset:
            return
        self.corruption = corruption
        _log.error(
            "Log of %s is corrupt (offset=%d, segment=%d, position=%d): %s",
            self.topic_partition, corruption.offset, corruption.segment_base_offset, corruption.position,
            corruption.reason,
        )  # fmt: skip
        if self.on_corrupt is not None:
            self.on_corrupt()

    def check_epochs(self, leader_epoch: int) -> None:
        """Reports a batch with a later leader epoch than the partition's as corrupt."""
        epochs = self._body.epochs
        if epochs.latest <= leader_epoch:
            return
        start = next(at for epoch, at in zip(epochs.epochs, epochs.start_offsets, strict=True) if epoch > leader_epoch)
        segment = self._body.segments[self._body.segments.slot_of(start)]
        location = segment.locate(start)
        if location is not None:  # otherwise the epoch belongs to a leader that appended nothing
            reason = f"leader epoch {epochs.latest} is above {leader_epoch}, the partition's"
            self.report_corruption(Corruption(start, segment.base_offset, location[0], reason))

    def check_at(self, offset: int, size_bytes: int = 0) -> Corruption | None:
        """Checks the batch that contains `offset`, and `size_bytes` more of its segment; reports and returns the first
        corrupt one. Yields: a result for records that were truncated or deleted meanwhile is ignored."""
        body = self._body
        segments, truncations = body.segments, body.truncations
        slot = segments.slot_of(offset)
        segment = segments[slot]
        next_base_offset = segments[slot + 1].base_offset if slot + 1 < len(segments) else None
        position, next_offset = segment.indexed_before(offset)
        check = SegmentCheck(segment.base_offset, self.batch_order(next_offset), position, body.log_start_offset)
        # The open file stays readable if the segment is deleted meanwhile.
        file, file_system, end = segment.file(), body.directory.disk.file_system, segment.written
        corruption = check.run(
            lambda at, size: file_system.pread(file.fd, size, at),
            min(position + _CHECKED_BYTES + size_bytes, end),
            end,
        )
        if corruption is None and check.position >= end and next_base_offset is not None:
            corruption = check.corruption_before_segment(next_base_offset)
        if corruption is None or body.truncations != truncations:
            return None
        if segments[segments.slot_of(segment.base_offset)] is not segment:
            return None
        self.report_corruption(corruption)
        return corruption

    def batch_order(self, next_offset: int) -> BatchOrder:
        """The rules for the batches from `next_offset` on."""
        return BatchOrder(self._body.epochs, self._body.gaps_below, next_offset, strict=True)

    def unreadable_at(self, offset: int) -> KafkaError:
        """The error for an `offset` that no batch contains and that was not compacted away: something before it is
        corrupt. Yields."""
        if self.corruption is None:
            self.check_at(offset)
        return KafkaError(Error.CORRUPT_MESSAGE, f"{self.topic_partition} cannot be read at offset {offset}")
