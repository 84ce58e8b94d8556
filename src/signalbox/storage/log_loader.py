"""Opening a log: loads a folder into memory; after a crash, checks it and truncates it to what is complete.

After a clean shutdown the active segment's last batches are read from its last index entry on. Otherwise every segment
from the recovery point on is read, checksums included, and its indexes are rebuilt. The log then ends before the first
batch that is not complete (a torn tail) or does not continue the one before it (`batch_order.py`). Leader epochs and
producers are adjusted to that end.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass

from signalbox.protocol.records.batch_header import BatchHeader
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.files.file_names import (
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LEADER_EPOCH_FILE,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    offset_of,
    offsets_in,
)
from signalbox.storage.leader_epochs import LeaderEpochs
from signalbox.storage.log_body import LogBody
from signalbox.storage.log_config import LogConfig
from signalbox.storage.producers.producer_replay import replay_producers
from signalbox.storage.segments.segment import MAX_RELATIVE_OFFSET, Segment
from signalbox.storage.segments.segment_list import SegmentList
from signalbox.storage.segments.segment_scan import scan_batches
from signalbox.storage.validation.batch_order import GAPS_ANYWHERE, BatchOrder

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LastRun:
    """The checkpoints' values for a log. The defaults are for a folder without any checkpoint."""

    clean: bool = False
    recovery_point: int = 0
    log_start_offset: int = 0
    compacted_to: int = 0
    high_watermark: int = GAPS_ANYWHERE


def create_body(folder: str, directory: LogDirectory, config: LogConfig, start_offset: int = 0) -> LogBody:
    """A new, empty log."""
    directory.disk.file_system.make_directory(folder)
    first = Segment(folder, start_offset, directory.disk, config.index_interval_bytes)
    first.activate()
    return LogBody(folder, directory, config, SegmentList([first]), _epochs(folder, directory))


def load_body(folder: str, directory: LogDirectory, config: LogConfig, last_run: LastRun) -> tuple[LogBody, int]:
    """The log in `folder` and its end offset."""
    _remove_leftovers(folder, directory)
    base_offsets = offsets_in(folder, LOG_SUFFIX)
    if not base_offsets:
        body = create_body(folder, directory, config, last_run.log_start_offset)
        return body, last_run.log_start_offset
    segments = SegmentList([_segment(folder, base_offset, directory, config) for base_offset in base_offsets])
    epochs = _epochs(folder, directory)
    epochs.load()
    body = LogBody(folder, directory, config, segments, epochs)
    body.compacted_to = last_run.compacted_to
    end_offset = _end_offset(body, last_run.high_watermark) if last_run.clean else None
    if end_offset is None:
        body.has_unexpected_end = last_run.clean
        end_offset = _recover(body, last_run)
    body.recovery_point = min(max(last_run.recovery_point, base_offsets[0]), end_offset)
    if last_run.log_start_offset > end_offset:
        body.restart_at(last_run.log_start_offset)
        return body, last_run.log_start_offset
    body.log_start_offset = max(base_offsets[0], last_run.log_start_offset)
    if epochs.truncate_from_end(end_offset) | epochs.truncate_from_start(body.log_start_offset):
        epochs.save()
    body.drop_snapshots_after(end_offset)
    body.producers = replay_producers(directory.disk.file_system, folder, segments, end_offset)
    segments.active.activate()
    return body, end_offset


def _epochs(folder: str, directory: LogDirectory) -> LeaderEpochs:
    return LeaderEpochs(os.path.join(folder, LEADER_EPOCH_FILE), directory.disk.file_system)


def _segment(folder: str, base_offset: int, directory: LogDirectory, config: LogConfig) -> Segment:
    segment = Segment(folder, base_offset, directory.disk, config.index_interval_bytes)
    segment.use_existing_file(os.path.getsize(segment.path(LOG_SUFFIX)))
    return segment


def _remove_leftovers(folder: str, directory: LogDirectory) -> None:
    """Removes leftover files of an earlier run (deleted or temporary ones), and indexes without a log file."""
    names = os.listdir(folder)
    logs = {name.removesuffix(LOG_SUFFIX) for name in names if name.endswith(LOG_SUFFIX)}
    for name in names:
        orphan = any(
            offset_of(name, suffix) is not None and name.removesuffix(suffix) not in logs
            for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX)
        )
        if orphan or name.endswith((DELETED_SUFFIX, ".tmp", ".cleaned", ".swap")):
            directory.disk.file_system.remove(os.path.join(folder, name))


def _end_offset(body: LogBody, high_watermark: int) -> int | None:
    """The end offset of a cleanly closed log; None if its active segment does not end with a complete batch, or if one
    of its last batches does not continue the one before."""
    active = body.segments.active
    saved = active.load_indexes()
    indexed = active.index.last_within(active.written) if saved else None
    start, indexed_offset = indexed or (0, None)
    order, end_position = _order(body, high_watermark, active.base_offset), 0
    for batch in active.headers(start):
        if indexed_offset is not None:  # the base offset of the first batch is checked against its index entry
            order.next_offset = indexed_offset - batch.last_offset_delta
            indexed_offset = None
        if order.fault(batch) is not None:
            return None
        end_position = batch.position + batch.size_bytes
    return order.next_offset if end_position == active.written else None


def _order(body: LogBody, high_watermark: int, next_offset: int) -> BatchOrder:
    """Only committed records are ever compacted: above the high watermark a gap is corruption in any log."""
    gaps_below = max(min(body.gaps_below, high_watermark), body.compacted_to)
    return BatchOrder(body.epochs, gaps_below, next_offset)


def _recover(body: LogBody, last_run: LastRun) -> int:
    """Reads everything from the recovery point on; truncates the log at the first fault. Returns its end offset."""
    segments = body.segments
    epochs_before = list(body.epochs.epochs)
    slot = segments.slot_of(last_run.recovery_point)
    batches = _IntactBatches(body, _order(body, last_run.high_watermark, segments[slot].base_offset))
    while slot < len(segments):
        segment = segments[slot]
        if not batches.order.may_begin_at(segment.base_offset):
            batches.fault = f"a segment begins at offset {segment.base_offset}"
            _drop_after(body, slot - 1, batches)
            break
        segment.rebuild(batches.of(segment))
        if segment.size < segment.written:
            size_bytes = segment.written
            body.directory.disk.file_system.truncate(segment.file().fd, segment.size)
            segment.written = segment.size
            _drop_after(body, slot, batches, size_bytes)
        segment.save_indexes(final=segment is not segments.active)
        slot += 1
    end_offset = batches.order.next_offset
    if batches.wrong_epoch_from is not None:
        end_offset = body.truncate_to(batches.wrong_epoch_from)
    if body.epochs.epochs != epochs_before:
        body.epochs.save()
    return end_offset


def _drop_after(body: LogBody, slot: int, batches: _IntactBatches, size_bytes: int = 0) -> None:
    """Removes everything behind the complete batches of the segment in `slot`."""
    segment, dropped = body.segments[slot], len(body.segments) - slot - 1
    lost_bytes = max(0, size_bytes - segment.size)
    if batches.fault is None:
        logger.warning(
            "Log segment %s truncated to offset %d by recovery (bytes=%d, later segments=%d): no complete batch "
            "follows",
            segment.path(LOG_SUFFIX), batches.order.next_offset, lost_bytes, dropped,
        )  # fmt: skip
    else:
        logger.error(
            "Log segment %s is corrupt: truncated to offset %d by recovery (%s, bytes=%d, later segments=%d). A "
            "follower fetches the rest from its leader; a topic that was compacted before needs "
            "cleanup.policy=compact,delete",
            segment.path(LOG_SUFFIX), batches.order.next_offset, batches.fault, lost_bytes, dropped,
        )  # fmt: skip
    body.retire(body.segments.take_after(slot))
    body.apply_config(body.config)


class _IntactBatches:
    """The batches of a log, segment by segment, as long as they are complete and in order; records their leader epochs.

    An epoch later than all known ones is accepted, since the cache may be older than the log after a power failure. If
    an earlier one follows, the later one was corrupt: the log ends at `wrong_epoch_from`.
    """

    def __init__(self, body: LogBody, order: BatchOrder) -> None:
        self._body = body
        self._cached_epoch = body.epochs.latest
        self.order = order
        self.fault: str | None = None
        self.wrong_epoch_from: int | None = None

    def of(self, segment: Segment) -> Iterator[BatchHeader]:
        """The batches of one segment. The next segment may follow when all of them were read."""
        epochs = self._body.epochs
        for batch, _ in scan_batches(self._body.directory.disk.file_system, segment.file().fd, 0, segment.written):
            if batch.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
                self.fault = f"last offset {batch.last_offset} is too far from the segment's first"
                return
            self.fault = self.order.fault(batch)
            if self.fault is not None:
                if self._cached_epoch <= batch.partition_leader_epoch < epochs.latest:
                    self.wrong_epoch_from = epochs.start_offsets[-1]
                return
            if 0 <= self._cached_epoch < batch.partition_leader_epoch:
                self._body.epochs_verified_to = min(self._body.epochs_verified_to, batch.base_offset)
            epochs.assign_if_later(batch.partition_leader_epoch, batch.base_offset)
            yield batch
