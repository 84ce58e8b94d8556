"""Opening a log: what a folder holds, put back into memory; after a crash, checked and cut to what is whole.

After a clean shutdown the active segment's last batches are walked from its last index entry on. Otherwise every
segment from the recovery point on is read through, checksums and all, its indexes are built anew, and the log ends
before the first batch that is not whole (a torn tail). Leader epochs and producers are brought in line with that.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass

from signalbox.protocol.records.batch_header import BatchHeader
from signalbox.storage.file_names import (
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
from signalbox.storage.log_directory import LogDirectory
from signalbox.storage.producer_replay import replay_producers
from signalbox.storage.segment import MAX_RELATIVE_OFFSET, Segment
from signalbox.storage.segment_list import SegmentList
from signalbox.storage.segment_scan import scan_batches

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LastRun:
    """What the checkpoints say of a log. The defaults fit a folder nobody knows anything about."""

    clean: bool = False
    recovery_point: int = 0
    log_start_offset: int = 0


def create_body(folder: str, directory: LogDirectory, config: LogConfig, start_offset: int = 0) -> LogBody:
    """A new, empty log."""
    directory.disk.file_system.make_directory(folder)
    first = Segment(folder, start_offset, directory.disk, config.index_interval_bytes)
    first.activate()
    return LogBody(folder, directory, config, SegmentList([first]), _epochs(folder, directory))


def load_body(folder: str, directory: LogDirectory, config: LogConfig, last_run: LastRun) -> tuple[LogBody, int]:
    """The log in `folder` and its end offset."""
    _sweep(folder, directory)
    bases = offsets_in(folder, LOG_SUFFIX)
    if not bases:
        body = create_body(folder, directory, config, last_run.log_start_offset)
        return body, last_run.log_start_offset
    segments = SegmentList([_segment(folder, base, directory, config) for base in bases])
    epochs = _epochs(folder, directory)
    epochs.load()
    body = LogBody(folder, directory, config, segments, epochs)
    end_offset = _end_offset(segments.active) if last_run.clean else None
    if end_offset is None:
        end_offset = _recover(body, last_run.recovery_point)
    body.recovery_point = min(max(last_run.recovery_point, bases[0]), end_offset)
    if last_run.log_start_offset > end_offset:
        body.restart_at(last_run.log_start_offset)
        return body, last_run.log_start_offset
    body.log_start_offset = max(bases[0], last_run.log_start_offset)
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
    segment.found_on_disk(os.path.getsize(segment.path(LOG_SUFFIX)))
    return segment


def _sweep(folder: str, directory: LogDirectory) -> None:
    """Removes what an earlier run was about to remove, and indexes that have lost their log."""
    names = os.listdir(folder)
    logs = {name.removesuffix(LOG_SUFFIX) for name in names if name.endswith(LOG_SUFFIX)}
    for name in names:
        orphan = any(
            offset_of(name, suffix) is not None and name.removesuffix(suffix) not in logs
            for suffix in (INDEX_SUFFIX, TIME_INDEX_SUFFIX)
        )
        if orphan or name.endswith((DELETED_SUFFIX, ".tmp", ".cleaned", ".swap")):
            directory.disk.file_system.remove(os.path.join(folder, name))


def _end_offset(active: Segment) -> int | None:
    """Where a cleanly closed segment ends; None when it does not end with a whole batch after all."""
    active.load_indexes()
    end_offset, end_position = active.base_offset, 0
    for batch in active.headers(active.index.position_within(active.written)):
        end_offset, end_position = batch.next_offset, batch.position + batch.size_bytes
    return end_offset if end_position == active.written else None


def _recover(body: LogBody, recovery_point: int) -> int:
    """Reads everything from the recovery point on; cuts the log where it stops being whole. Gives its end."""
    segments = body.segments
    end_offset = segments[0].base_offset
    epochs_before = list(body.epochs.epochs)
    slot = segments.slot_of(recovery_point)
    while slot < len(segments):
        segment = segments[slot]
        whole = _WholeBatches(body, segment)
        segment.rebuild(iter(whole))
        end_offset = whole.end_offset
        if segment.size < segment.written:
            logger.warning(
                "%s: cut at offset %d, %d bytes behind it are no whole batches",
                segment.path(LOG_SUFFIX),
                end_offset,
                segment.written - segment.size,
            )
            body.directory.disk.file_system.truncate(segment.file().fd, segment.size)
            segment.written = segment.size
            body.retire(segments.take_after(slot))
            body.apply_config(body.config)
        segment.save_indexes(final=segment is not segments.active)
        slot += 1
    if body.epochs.epochs != epochs_before:
        body.epochs.save()
    return end_offset


class _WholeBatches:
    """The batches of a segment as long as they are whole and in order; notes their leader epochs on the way."""

    def __init__(self, body: LogBody, segment: Segment) -> None:
        self._body = body
        self._segment = segment
        self.end_offset = segment.base_offset

    def __iter__(self) -> Iterator[BatchHeader]:
        segment = self._segment
        file_system = self._body.directory.disk.file_system
        for batch, _ in scan_batches(file_system, segment.file().fd, 0, segment.written):
            too_far = batch.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
            if batch.base_offset < self.end_offset or too_far:  # no checksum covers the base offset
                return
            self.end_offset = batch.next_offset
            self._body.epochs.assign_if_later(batch.partition_leader_epoch, batch.base_offset)
            yield batch
