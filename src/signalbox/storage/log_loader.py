"""Opening a log: loads a folder into memory; after a crash, checks it and truncates it to what is complete.

After a clean shutdown the active segment's last batches are read from its last index entry on. Otherwise every segment
from the recovery point on is read, checksums included, and its indexes are rebuilt. The log then ends before the first
batch that is not complete (a torn tail) or does not continue the one before it (`batch_order.py`). Leader epochs and
producers are adjusted to that end. A log that was closed cleanly ends at its recovery point: one that ends before it
has lost records, even if its last batch is complete.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

from signalbox.protocol.records.batch_header import BatchHeader
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.files.file_names import LEADER_EPOCH_FILE, LOG_SUFFIX, offsets_in
from signalbox.storage.interrupted_swaps import complete_swaps
from signalbox.storage.last_run import LastRun
from signalbox.storage.leader_epochs import LeaderEpochs
from signalbox.storage.log_body import LogBody, new_segment
from signalbox.storage.log_config import LogConfig
from signalbox.storage.producers.producer_replay import rebuild_transaction_indexes, replay_producers
from signalbox.storage.producers.producer_snapshot import remove_unused_snapshots
from signalbox.storage.segments.segment import MAX_RELATIVE_OFFSET, Segment
from signalbox.storage.segments.segment_list import SegmentList
from signalbox.storage.segments.segment_scan import scan_batches
from signalbox.storage.validation.batch_order import BatchOrder

logger = logging.getLogger(__name__)


def create_body(folder: str, directory: LogDirectory, config: LogConfig, start_offset: int = 0) -> LogBody:
    """A new, empty log."""
    directory.disk.file_system.make_directory(folder)
    first = new_segment(folder, start_offset, directory, config)
    return LogBody(folder, directory, config, SegmentList([first]), _epochs(folder, directory))


def load_body(folder: str, directory: LogDirectory, config: LogConfig, last_run: LastRun) -> tuple[LogBody, int]:
    """The log in `folder` and its end offset."""
    complete_swaps(folder, directory.disk.file_system)
    base_offsets = offsets_in(folder, LOG_SUFFIX)
    if not base_offsets:
        body = create_body(folder, directory, config, last_run.log_start_offset)
        _check_clean_end(body, last_run.log_start_offset, last_run)
        return body, last_run.log_start_offset
    segments = SegmentList([_segment(folder, base_offset, directory, config) for base_offset in base_offsets])
    epochs = _epochs(folder, directory)
    has_epochs = epochs.load()
    body = LogBody(folder, directory, config, segments, epochs)
    body.compacted_to, body.gaps_to = last_run.compacted_to, last_run.gaps_to
    if not has_epochs:
        _rebuild_epochs(body, last_run.recovery_point)
    end_offset = _end_offset(body) if last_run.clean else None
    if end_offset is None or end_offset < last_run.recovery_point:
        body.has_unexpected_end = last_run.clean
        end_offset = _recover(body, last_run)
    _check_clean_end(body, end_offset, last_run)
    body.forget_gaps_from(end_offset)
    body.recovery_point = min(max(last_run.recovery_point, base_offsets[0]), end_offset)
    if last_run.log_start_offset > end_offset:
        logger.warning(
            "Log restarted (partition=%s, log end offset=%d, before=%d, reason=its log start offset is above its end)",
            os.path.basename(folder), last_run.log_start_offset, end_offset,
        )  # fmt: skip
        body.restart_at(last_run.log_start_offset)
        return body, last_run.log_start_offset
    body.log_start_offset = max(base_offsets[0], last_run.log_start_offset)
    if epochs.truncate_from_end(end_offset) | epochs.truncate_from_start(body.log_start_offset):
        epochs.save()
    remaining = [segment.base_offset for segment in segments]
    remove_unused_snapshots(directory.disk.file_system, folder, remaining, end_offset)
    body.producers = replay_producers(directory.disk.file_system, folder, segments, end_offset)
    segments.active.activate()
    body.transaction_index(segments.active)
    return body, end_offset


def _check_clean_end(body: LogBody, end_offset: int, last_run: LastRun) -> None:
    """Compares the end of a log with its recovery point, which a clean shutdown leaves at the end."""
    if last_run.clean and end_offset < last_run.recovery_point:
        body.has_unexpected_end = True
        logger.warning(
            "Log truncated since its clean shutdown (partition=%s, log end offset=%d, before=%d): its log directory "
            "counts as not cleanly shut down",
            os.path.basename(body.folder), end_offset, last_run.recovery_point,
        )  # fmt: skip


def _epochs(folder: str, directory: LogDirectory) -> LeaderEpochs:
    return LeaderEpochs(os.path.join(folder, LEADER_EPOCH_FILE), directory.disk.file_system)


def _rebuild_epochs(body: LogBody, recovery_point: int) -> None:
    """The file of the leader epochs is missing or broken: reads them from the batches below the recovery point. A log
    without them could keep records that its leader does not have. Those behind it are read by the recovery."""
    for segment in body.segments:
        for batch in segment.headers() if segment.base_offset < recovery_point else ():
            if batch.base_offset >= recovery_point:
                break
            body.epochs.assign_if_later(batch.partition_leader_epoch, batch.base_offset)
    body.epochs.save()


def _segment(folder: str, base_offset: int, directory: LogDirectory, config: LogConfig) -> Segment:
    segment = Segment(folder, base_offset, directory.disk, config.index_interval_bytes)
    segment.use_existing_file(os.path.getsize(segment.path(LOG_SUFFIX)))
    return segment


def _end_offset(body: LogBody) -> int | None:
    """The end offset of a cleanly closed log; None if its active segment does not end with a complete batch, or if one
    of its last batches does not continue the one before."""
    active = body.segments.active
    saved = active.load_indexes()
    indexed = active.index.last_within(active.written) if saved else None
    start, indexed_offset = indexed or (0, None)
    order, end_position = BatchOrder(body.epochs, body.gaps_below, active.base_offset), 0
    for batch in active.headers(start):
        if indexed_offset is not None:  # the base offset of the first batch is checked against its index entry
            order.continue_at(indexed_offset - batch.last_offset_delta)
            indexed_offset = None
        if order.fault(batch) is not None:
            return None
        end_position = batch.position + batch.size_bytes
    return order.next_offset if end_position == active.written else None


def _recover(body: LogBody, last_run: LastRun) -> int:
    """Reads everything from the recovery point on; truncates the log at the first fault. Returns its end offset."""
    segments = body.segments
    epochs_before, segments_before, bytes_before = list(body.epochs.epochs), len(segments), segments.size_bytes()
    end_before = max(last_run.recovery_point, segments.active.base_offset)  # at least
    slot = segments.slot_of(last_run.recovery_point)
    batches = _IntactBatches(body, BatchOrder(body.epochs, body.gaps_below, segments[slot].base_offset))
    while slot < len(segments):
        segment = segments[slot]
        if not batches.continue_with(segment):
            _drop_after(body, slot - 1)
            break
        segment.rebuild(batches.of(segment))
        segment.transaction_index.clear()
        if segment.size < segment.written:
            body.directory.disk.file_system.truncate(segment.file().fd, segment.size)
            segment.written = segment.size
            _drop_after(body, slot)
        segment.save_indexes(final=segment is not segments.active)
        slot += 1
    end_offset = batches.order.next_offset
    end_before = max(end_before, end_offset)
    if batches.corrupt_from is not None:
        end_offset = body.truncate_to(batches.corrupt_from, batches.corrupt_place)
    with_markers = [segment for segment in batches.segments_with_markers if segment in segments and segment.size]
    rebuild_transaction_indexes(body.directory.disk.file_system, body.folder, segments, with_markers)
    for segment in with_markers:
        segment.transaction_index.save(body.directory.disk.file_system)
        body.may_have_aborted = True
    if body.epochs.epochs != epochs_before:
        body.epochs.save()
    dropped, lost_bytes = segments_before - len(segments), bytes_before - segments.size_bytes()
    if dropped or lost_bytes:
        _log_truncation(body, (end_offset, end_before), batches.fault, lost_bytes, dropped)
    return end_offset


def _drop_after(body: LogBody, slot: int) -> None:
    """Removes the segments behind the one in `slot`, which becomes the active one."""
    body.retire(body.segments.take_after(slot))
    body.apply_config(body.config)


def _log_truncation(body: LogBody, end: tuple[int, int], fault: str | None, lost_bytes: int, dropped: int) -> None:
    """`end`: the end offset, and what it was before, at least."""
    values = (body.segments.active.path(LOG_SUFFIX), end[0], os.path.basename(body.folder), end[1])
    if fault is None:
        logger.warning(
            "Log segment %s truncated to offset %d by recovery (partition=%s, before>=%d, bytes=%d, later segments=%d):"
            " no complete batch follows", *values, lost_bytes, dropped,
        )  # fmt: skip
    else:
        logger.error(
            "Log segment %s is corrupt: truncated to offset %d by recovery (partition=%s, before>=%d, reason=%s, "
            "bytes=%d, later segments=%d). A follower fetches the rest from its leader", *values, fault, lost_bytes,
            dropped,
        )  # fmt: skip


class _IntactBatches:
    """The batches of a log, segment by segment, as long as they are complete and in order; records their leader epochs.

    An epoch later than all known ones is accepted, since the cache may be older than the log after a power failure. If
    an earlier one follows, the later one was corrupt. The same applies to a batch behind a gap. The log then ends at
    `corrupt_from`, and the batch there is at `corrupt_place` (base offset of its segment, position) if that is known.
    """

    def __init__(self, body: LogBody, order: BatchOrder) -> None:
        self._body = body
        self._cached_epoch = body.epochs.latest
        self.order = order
        self.fault: str | None = None
        self.corrupt_from: int | None = None
        self.corrupt_place: tuple[int, int] | None = None
        self.segments_with_markers: dict[Segment, None] = {}
        self._segment_base_offset = order.next_offset

    def continue_with(self, segment: Segment) -> bool:
        """Whether this segment may follow the batches so far."""
        if self._finds_corrupt_before(segment.base_offset):
            return False
        if not self.order.may_begin_at(segment.base_offset):
            self.fault = f"a segment begins at offset {segment.base_offset}"
            return False
        self.order.continue_at(segment.base_offset)
        self._segment_base_offset = segment.base_offset
        return True

    def of(self, segment: Segment) -> Iterator[BatchHeader]:
        """The batches of one segment. The next segment may follow when all of them were read."""
        epochs = self._body.epochs
        for batch, _ in scan_batches(self._body.directory.disk.file_system, segment.file().fd, 0, segment.written):
            if batch.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET:
                self.fault = f"last offset {batch.last_offset} is too far from the segment's first"
                return
            if self._finds_corrupt_before(batch.base_offset):
                return
            self.fault = self.order.fault(batch)
            if self.fault is not None:
                if self._cached_epoch <= batch.partition_leader_epoch < epochs.latest:
                    self.corrupt_from = epochs.start_offsets[-1]
                return
            if 0 <= self._cached_epoch < batch.partition_leader_epoch:
                self._body.epochs_verified_to = min(self._body.epochs_verified_to, batch.base_offset)
            epochs.assign_if_later(batch.partition_leader_epoch, batch.base_offset)
            if batch.is_control:
                self.segments_with_markers[segment] = None
            yield batch

    def _finds_corrupt_before(self, next_base_offset: int) -> bool:
        batch = self.order.corrupt_before(next_base_offset)
        if batch is None:
            return False
        self.fault, self.corrupt_from = batch.fault(next_base_offset), batch.offset
        self.corrupt_place = self._segment_base_offset, batch.position
        return True
