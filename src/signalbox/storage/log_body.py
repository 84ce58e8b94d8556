"""The files of a log and their state in memory: segments, leader epochs, producers. No append queue and no reads.

Offsets that these methods take are ends: "next offset", the one after the last record. Every method may raise OSError;
`Log` turns that into an offline directory.
"""

from __future__ import annotations

import logging
import math
import operator
import os
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress

from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.files.file_names import (
    CLEANED_SUFFIX,
    GAP_OFFSET_FILE,
    LEADER_EPOCH_FILE,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    offset_name,
    offsets_in,
    partition_of,
)
from signalbox.storage.files.open_files import OpenFile
from signalbox.storage.leader_epochs import LeaderEpochs
from signalbox.storage.log_config import LogConfig
from signalbox.storage.producers.producer_replay import rebuild_transaction_index, replay_producers
from signalbox.storage.producers.producer_snapshot import save_snapshot, sync_snapshots
from signalbox.storage.producers.producer_state import ProducerStates
from signalbox.storage.producers.transaction_verification import TransactionVerifications
from signalbox.storage.segments.segment import MAX_RELATIVE_OFFSET, Segment
from signalbox.storage.segments.segment_list import SegmentList
from signalbox.storage.segments.time_index import ENTRY_SIZE_BYTES as TIME_ENTRY_SIZE_BYTES
from signalbox.storage.segments.transaction_index import MAX_ENTRIES, AbortedTransaction, TransactionIndex

logger = logging.getLogger(__name__)

NO_LIMIT = 2**63 - 1


def new_segment(folder: str, base_offset: int, directory: LogDirectory, config: LogConfig) -> Segment:
    """An empty segment with its file, with the space of a full one if the topic has `preallocate`."""
    segment = Segment(folder, base_offset, directory.disk, config.index_interval_bytes)
    file = segment.activate()
    if config.preallocate:
        with suppress(OSError):  # the file grows as it is written where the file system cannot reserve
            directory.disk.file_system.reserve(file.fd, config.segment_bytes)
    return segment


class LogBody:
    """Filled by the loader, changed by `Log`."""

    __slots__ = (
        "_index_entries",
        "_last_offset_allowed",
        "_segment_bytes",
        "_truncations",
        "compacted_to",
        "config",
        "directory",
        "epochs",
        "epochs_verified_to",
        "folder",
        "gaps_to",
        "has_unexpected_end",
        "log_start_offset",
        "may_have_aborted",
        "producers",
        "recovery_point",
        "roll_ms",
        "segments",
        "verifications",
    )

    def __init__(
        self, folder: str, directory: LogDirectory, config: LogConfig, segments: SegmentList, epochs: LeaderEpochs
    ) -> None:
        self.folder = folder
        self.directory = directory
        self.config = config
        self.segments = segments
        self.epochs = epochs
        self.producers = ProducerStates()
        self.verifications = TransactionVerifications()
        self.may_have_aborted = any(not segment.transaction_index.is_loaded for segment in segments)
        self.log_start_offset = segments[0].base_offset
        self.recovery_point = self.log_start_offset
        self.has_unexpected_end = False  # after a clean shutdown the end of the log was not as expected
        self.epochs_verified_to = NO_LIMIT  # behind it, leader epochs are known from the batches alone
        self.compacted_to = 0  # compaction has processed the log below this offset, by Kafka's checkpoint
        self.gaps_to = 0  # the records of leaders had gaps up to this offset, by the checkpoint of Signalbox
        self._truncations = 0  # the result of a sync that began before a truncation is not valid after it
        self.apply_config(config)

    @property
    def truncations(self) -> int:
        """How often the end was truncated, or the files moved: only grows."""
        return self._truncations

    @property
    def gaps_below(self) -> int:
        """Below this offset records may be missing in the middle of the log (`batch_order.py`)."""
        return max(self.compacted_to, self.gaps_to)

    def allow_gaps_to(self, offset: int) -> None:
        """Records of the leader, with a gap before `offset`, will be appended. The offset is stored first: a later
        recovery would otherwise end the log before the gap."""
        if offset > self.gaps_below:
            partition = partition_of(os.path.basename(self.folder))
            assert partition is not None
            self.gaps_to = offset
            self.directory.raise_checkpoint(GAP_OFFSET_FILE, partition, offset)

    def forget_gaps_from(self, offset: int) -> None:
        """The log ends at `offset`: what is appended from here on has no known gap."""
        self.compacted_to, self.gaps_to = min(self.compacted_to, offset), min(self.gaps_to, offset)

    def apply_config(self, config: LogConfig) -> None:
        """Applies `config` from the next batch on."""
        self.config = config
        jitter = min(config.segment_jitter_ms, config.roll_ms)
        # The jitter depends on the folder's name: the same after a restart, different between partitions.
        self.roll_ms = config.roll_ms - (zlib.crc32(self.folder.encode()) % jitter if jitter else 0)
        self._segment_bytes = config.segment_bytes
        self._index_entries = config.segment_index_bytes // TIME_ENTRY_SIZE_BYTES
        self._refresh_active()

    def _refresh_active(self) -> None:
        active = self.segments.active
        active.index_interval_bytes = self.config.index_interval_bytes
        self._last_offset_allowed = active.base_offset + MAX_RELATIVE_OFFSET

    def is_full_for(self, size: int, last_offset: int, max_timestamp: int) -> bool:
        """Whether a batch does not fit into the active segment (also if that segment is empty)."""
        active = self.segments.active
        return (
            active.size + size > self._segment_bytes
            or max_timestamp - active.first_timestamp > self.roll_ms
            or last_offset > self._last_offset_allowed
            or len(active.index) >= self._index_entries
        )

    def roll(self, next_offset: int) -> None:
        """Closes the active segment and begins a new one at `next_offset`; the old one is synced in the background."""
        old = self.segments.active
        old.save_indexes(final=True)
        self.take_snapshot(next_offset)
        if self.config.preallocate:
            self.directory.disk.file_system.truncate(old.file().fd, old.written)  # gives back the rest
        self.segments.add(self.new_segment(next_offset))
        self._refresh_active()
        file = old.file()
        self.directory.disk.open_files.touch(old)

        truncations, folder, durable_to = self._truncations, self.folder, self.recovery_point

        def sync_files() -> None:
            self.directory.disk.file_system.fsync(file.fd)
            old.transaction_index.sync(self.directory.disk.file_system)
            sync_snapshots(self.directory.disk.file_system, folder, durable_to, next_offset)

        def synced(error: BaseException | None) -> None:
            if isinstance(error, OSError):
                self.directory.fail(error, f"syncing {old.path(LOG_SUFFIX)}")
            elif truncations == self._truncations:
                self.recovery_point = max(self.recovery_point, next_offset)

        self.directory.background.run(sync_files, synced)

    def new_segment(self, base_offset: int) -> Segment:
        """An empty segment with its file."""
        return new_segment(self.folder, base_offset, self.directory, self.config)

    def take_snapshot(self, offset: int) -> None:
        """Saves the producer state as of `offset`."""
        path = os.path.join(self.folder, offset_name(offset, SNAPSHOT_SUFFIX))
        save_snapshot(self.directory.disk.file_system, path, self.producers)

    def transaction_index(self, segment: Segment) -> TransactionIndex:
        """The transaction index of `segment`, loaded; rebuilt from the log if its file is corrupt."""
        index, file_system = segment.transaction_index, self.directory.disk.file_system
        if not index.is_loaded:
            try:
                index.load(file_system, segment.base_offset)
                if segment is not self.segments.active:  # which owns its file
                    self.directory.disk.open_files.touch(segment)
            except ValueError as fault:
                logger.warning("Corrupt transaction index rebuilt: %s", fault)
                rebuild_transaction_index(file_system, self.folder, self.segments, segment)
                index.save(file_system)
        return index

    def add_aborted(self, aborted: AbortedTransaction) -> None:
        """A marker that ends the active segment aborts a transaction."""
        index = self.segments.active.transaction_index
        index.append(aborted)
        self.may_have_aborted = True
        if len(index) >= MAX_ENTRIES:
            self._last_offset_allowed = -1  # `is_full_for`: the next batch begins a segment

    def aborted_transactions(self, fetch_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """The aborted transactions with records from `fetch_offset` to `end_offset` (exclusive)."""
        aborted: list[AbortedTransaction] = []
        if not self.may_have_aborted:
            return aborted
        for slot in range(self.segments.slot_of(fetch_offset), len(self.segments)):
            index = self.transaction_index(self.segments[slot])
            if len(index):
                overlapping, is_complete = index.overlapping(fetch_offset, end_offset)
                aborted += overlapping
                if is_complete:
                    break
        return aborted

    def drop_oldest(self, count: int) -> None:
        """Deletes the oldest `count` segments."""
        if count == 0:
            return
        self.retire(self.segments.take_first(count))
        self.log_start_offset = max(self.log_start_offset, self.segments[0].base_offset)
        self.forget_epochs_before(self.log_start_offset)

    def start_at(self, offset: int) -> None:
        """Moves the log start up to `offset` and deletes the segments that are completely before it."""
        self.log_start_offset = offset
        self.drop_oldest(self.segments.slot_of(offset))
        self.forget_epochs_before(offset)

    def assign_epoch_start(self, leader_epoch: int, start_offset: int) -> None:
        """A leader epoch begins at `start_offset`."""
        if self.epochs.assign(leader_epoch, start_offset):
            self.epochs.save()

    def forget_epochs_before(self, offset: int) -> None:
        """Removes leader epochs that end before `offset`, where the log now begins. The file keeps them until it is
        written for another reason; the next start removes them too."""
        self.epochs.truncate_from_start(offset)

    def forget_epochs_from(self, offset: int) -> None:
        """Removes leader epochs that begin at or behind `offset`: they have no batch."""
        if self.epochs.truncate_from_end(offset):
            self.epochs.save()

    def truncate_to(self, offset: int, place: tuple[int, int] | None = None) -> int:
        """Ends the log at `offset`, or at the beginning of the batch that contains it. Returns the new end: that of the
        last batch, which is below `offset` where records were missing. `place`: (base offset of the segment, position)
        of the batch at `offset`, for a batch that cannot be found by its own offset."""
        self._truncations += 1
        self.retire(self.segments.take_after(self.segments.slot_of(offset if place is None else place[0])))
        active = self._activate_last()
        if place is not None:
            active.truncate_at(place[1], offset)
        elif (location := active.locate(offset)) is not None:
            offset = min(offset, location[2])
            active.truncate_at(location[0], offset)
        offset = min(offset, self._end_of_last_batch())
        self.forget_gaps_from(offset)
        self.forget_epochs_from(offset)
        self.recovery_point = min(self.recovery_point, offset)
        self.drop_snapshots_after(offset)
        self.producers = replay_producers(self.directory.disk.file_system, self.folder, self.segments, offset)
        return offset

    def _end_of_last_batch(self) -> int:
        """Where the last batch ends; the segments behind the one that contains it are removed."""
        for slot in range(len(self.segments) - 1, -1, -1):
            end_offset = self.segments[slot].end_offset()
            if end_offset is not None:
                break
        else:
            slot, end_offset = 0, self.segments[0].base_offset
        following = slot + 1
        if following < len(self.segments) and self.segments[following].base_offset == end_offset:
            slot = following  # empty, and in the right place
        if slot + 1 < len(self.segments):
            self.retire(self.segments.take_after(slot))
            self._activate_last()
        return end_offset

    def _activate_last(self) -> Segment:
        active = self.segments.active
        active.activate()
        self.transaction_index(active)
        self._refresh_active()
        return active

    def restart_at(self, offset: int) -> None:
        """Deletes everything; the log continues, empty, at `offset`."""
        self._truncations += 1
        self.retire(list(self.segments))
        self.segments.replace_run(0, len(self.segments) - 1, [self.new_segment(offset)])
        self._refresh_active()
        self.epochs.clear()
        self.epochs.save()
        self.producers = ProducerStates()
        self.may_have_aborted = False
        self.drop_snapshots_after(-1)
        self.log_start_offset = self.recovery_point = offset
        self.forget_gaps_from(offset)

    def retire(self, segments: Iterable[Segment]) -> None:
        """Takes the files of `segments` out of the log; they are removed later. Snapshots first: one without its
        segment would stay."""
        suffixes = (SNAPSHOT_SUFFIX, *SEGMENT_SUFFIXES)
        for segment in segments:
            segment.release()
            self.directory.disk.open_files.forget(segment)
            paths = [segment.path(suffix) for suffix in suffixes]
            self.directory.removals.retire(paths, self.config.file_delete_delay_ms)

    def has_run(self, segments: Sequence[Segment]) -> bool:
        """Whether `segments` are closed segments of this log, one behind the other."""
        first = self.segments.slot_of(segments[0].base_offset)
        run = [self.segments[slot] for slot in range(first, min(first + len(segments), len(self.segments) - 1))]
        return len(run) == len(segments) and all(map(operator.is_, run, segments))

    def swap_in(self, old: Sequence[Segment], size_bytes: int) -> None:
        """Replaces the run `old` by one segment of `size_bytes`, whose durable files have the suffix `.cleaned`. The
        order of the renames is what `interrupted_swaps.py` needs after a crash at any of them."""
        file_system, base_offset = self.directory.disk.file_system, old[0].base_offset
        new = Segment(self.folder, base_offset, self.directory.disk, self.config.index_interval_bytes)
        suffixes = list(SEGMENT_SUFFIXES)
        transaction_index_path = new.path(TRANSACTION_INDEX_SUFFIX) + CLEANED_SUFFIX
        if not os.path.getsize(transaction_index_path):
            file_system.remove(transaction_index_path)
            suffixes.remove(TRANSACTION_INDEX_SUFFIX)
        paths = [new.path(suffix) for suffix in suffixes]
        written = os.stat(old[-1].path(LOG_SUFFIX))  # the age of records without a timestamp stays
        os.utime(new.path(LOG_SUFFIX) + CLEANED_SUFFIX, ns=(written.st_atime_ns, written.st_mtime_ns))
        for path in paths:
            file_system.rename(path + CLEANED_SUFFIX, path + SWAP_SUFFIX)
        first = self.segments.slot_of(base_offset)
        self.segments.replace_run(first, first + len(old) - 1, [new])
        # No snapshot stays, that of a clean shutdown neither: the marker of a transaction that was open may be gone.
        self._drop_snapshots_between(base_offset, self.segments[first + 1].base_offset)
        self.retire(old)
        for path in paths:
            file_system.rename(path + SWAP_SUFFIX, path)
        new.use_existing_file(size_bytes)

    def drop_snapshots_after(self, end_offset: int) -> None:
        """Removes the snapshots above `end_offset`."""
        self._drop_snapshots_between(end_offset, math.inf)

    def _drop_snapshots_between(self, after: int, before: float) -> None:
        """Removes the snapshots above `after` and below `before`."""
        for offset in offsets_in(self.folder, SNAPSHOT_SUFFIX):
            if after < offset < before:
                self.directory.disk.file_system.remove(os.path.join(self.folder, offset_name(offset, SNAPSHOT_SUFFIX)))

    def sync(self, end_offset: int) -> None:
        """Makes everything before `end_offset` durable, and saves the indexes of the active segment."""
        if self.recovery_point < end_offset:
            for slot in range(self.segments.slot_of(self.recovery_point), len(self.segments)):
                self.segments[slot].fsync()
        self.segments.active.save_indexes()
        self.recovery_point = max(self.recovery_point, end_offset)

    def close(self, end_offset: int) -> None:
        """Saves what a fast start needs."""
        self.segments.active.save_indexes(final=True)
        self.epochs.make_durable()
        if end_offset > self.segments[0].base_offset:
            self.take_snapshot(end_offset)
        self.close_files()

    def relocate(self, folder: str, directory: LogDirectory, durable_to: int) -> None:
        """The same files, with saved indexes, are in `folder`; those before `durable_to` are durable there. OSError:
        they cannot be used, and nothing has changed."""
        active = self.segments.active
        path = os.path.join(folder, offset_name(active.base_offset, LOG_SUFFIX))
        file = OpenFile(directory.disk.file_system, path)
        for segment in self.segments:
            segment.relocate(folder)
        active.relocate(folder, file)
        self.epochs.relocate(os.path.join(folder, LEADER_EPOCH_FILE))
        self.folder, self.directory = folder, directory
        self._truncations += 1
        self.recovery_point = min(self.recovery_point, durable_to)
        self.apply_config(self.config)

    def starts_inside_segment(self) -> bool:
        """Whether the log start is above the first segment's base offset, so that it must be saved."""
        return self.log_start_offset > self.segments[0].base_offset

    def close_files(self) -> None:
        """Closes all files; a read opens them again."""
        for segment in self.segments:
            segment.release()
            self.directory.disk.open_files.forget(segment)
