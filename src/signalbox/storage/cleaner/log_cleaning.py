"""One cleaning round of one log: map, rewrite group after group, swap each new segment in.

The round is a generator. It runs on the loop's thread and yields the work for the background: everything that reads
records or waits for the disk. The log is used meanwhile, so after each step the round checks that the log is still the
same: truncated, deleted, moved or offline, it is left as it is, and what was written for it is removed. Segments that
retention has deleted are noticed before the swap. Readers of a replaced segment keep its open file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from signalbox.common.clock import Clock
from signalbox.common.cooperative_task import yield_if_due
from signalbox.storage.cleaner.batch_retention import RetentionRules
from signalbox.storage.cleaner.log_to_clean import LogToClean
from signalbox.storage.cleaner.segment_groups import group_segments
from signalbox.storage.cleaner.worker_port import (
    CleanedTarget,
    CleaningWorker,
    Mapped,
    Rewritten,
    SegmentSource,
    WorkerLimits,
)
from signalbox.storage.files.file_names import CLEANED_SUFFIX, GAP_OFFSET_FILE, SEGMENT_SUFFIXES
from signalbox.storage.files.open_files import OpenFile
from signalbox.storage.segments.segment import Segment
from signalbox.storage.segments.transaction_index import AbortedTransaction

_ROWS_AT_ONCE = 500  # of producers or of transactions: 1 ms

Work = Callable[[], Any]
Steps = Generator[Work, Any, Any]
Round = Generator[Work, Any, None]


class CleaningAborted(Exception):
    """The log changed during the round; it will be considered again."""


@dataclass(slots=True)
class CleaningStats:
    """Bytes and records of one round; `end_offset`: the log is clean up to here. `map_utilization`: 0 to 1."""

    bytes_read: int = 0
    bytes_kept: int = 0
    records_read: int = 0
    records_kept: int = 0
    end_offset: int = -1
    map_utilization: float = 0.0


class LogCleaning:
    """`is_current` tells whether the log may still be cleaned."""

    def __init__(
        self,
        target: LogToClean,
        worker: CleaningWorker,
        limits: WorkerLimits,
        clock: Clock,
        is_current: Callable[[], bool],
    ) -> None:
        self.stats = CleaningStats()
        self._target = target
        self._log = target.log
        self._body = target.log.body
        self._worker = worker
        self._limits = limits
        self._clock = clock
        self._began_ms = clock.now_ms()
        self._is_current = is_current
        self._truncations = target.truncations
        self._upper_bound = target.upper_bound_offset

    def run(self) -> Round:
        """Raises CleaningAborted, and what the worker and the log directory raise. Yields."""
        yield partial(self._worker.begin, self._limits)
        end_offset = yield from self._map()
        if end_offset <= self._target.first_dirty_offset:
            return  # retention has deleted the dirty segments
        self._check()
        segments = self._body.segments
        # The last segment may go on behind the map; all of it is rewritten, and its aborted batches are removed. First:
        # a recovery would end the log before a gap that it does not know.
        self._body.allow_gaps_to(segments.end_of(segments.slot_of(end_offset - 1), self._log.log_end_offset))
        yield self._sync_gaps
        yield self._worker.begin_rewriting
        yield from self._add_spanning_aborted(list(segments))
        yield from self._add_last_records()
        self._check()
        cleanable = [segment for segment in segments if segment.base_offset < end_offset]
        rules = RetentionRules(self._began_ms, self._body.config.delete_retention_ms, self._upper_bound)
        for group in group_segments(cleanable, segments.end_of(len(cleanable) - 1, end_offset), self._body.config):
            yield from self._rewrite(group, rules)
        self._check()
        self._body.compacted_to = max(self._body.compacted_to, end_offset)
        self.stats.end_offset = end_offset

    # -- the map

    def _map(self) -> Generator[Work, Any, int]:
        """Returns up to where the log is in the map. Yields."""
        segments, latest_offset = self._body.segments, self._target.first_dirty_offset - 1
        yield from self._add_spanning_aborted(list(segments)[segments.slot_of(self._target.first_dirty_offset) :])
        for segment, next_offset in self._dirty_segments():
            mapped: Mapped = yield from self._map_segment(segment, next_offset)
            latest_offset, self.stats.map_utilization = mapped.latest_offset, mapped.utilization
            if mapped.is_full:
                break
        return min(latest_offset + 1, self._upper_bound)

    def _dirty_segments(self) -> list[tuple[Segment, int]]:
        """The segments, each with the offset where the next one begins."""
        self._check()
        segments, upper_bound = self._body.segments, self._upper_bound
        first = segments.slot_of(self._target.first_dirty_offset)
        pairs = [(segments[slot], segments[slot + 1].base_offset) for slot in range(first, len(segments) - 1)]
        return [pair for pair in pairs if pair[1] <= upper_bound]

    def _map_segment(self, segment: Segment, next_offset: int) -> Steps:
        """Yields."""
        yield from self._add_own_aborted([segment])
        self._check_run([segment])
        body, first_dirty = self._body, self._target.first_dirty_offset
        with body.directory.guard(f"reading {body.folder}"):
            position = segment.indexed_before(first_dirty)[0] if segment.base_offset < first_dirty else 0
            file = segment.file()
        source = SegmentSource(file.fd, position, segment.written, first_dirty, next_offset)
        mapped = yield partial(self._worker.map_segment, source)
        del file  # open until here
        self._check()
        return mapped

    # -- aborted transactions

    def _add_spanning_aborted(self, segments: Sequence[Segment]) -> Round:
        """Sends the aborted transactions that begin in an earlier segment than that of their marker. All with batches
        below the upper bound have one, since it is at most the last stable offset. Yields."""

        def spans(aborted: AbortedTransaction, segment: Segment) -> bool:
            return aborted.first_offset < min(segment.base_offset, self._upper_bound)

        return self._add_aborted(segments, spans)

    def _add_own_aborted(self, segments: Sequence[Segment]) -> Round:
        """Sends the others: so the worker has those of one group at a time. Yields."""
        return self._add_aborted(segments, lambda aborted, segment: aborted.first_offset >= segment.base_offset)

    def _add_aborted(
        self, segments: Sequence[Segment], is_wanted: Callable[[AbortedTransaction, Segment], bool]
    ) -> Round:
        """Yields."""
        body, part = self._body, list[AbortedTransaction]()
        for segment in segments if body.may_have_aborted else ():
            yield_if_due()
            self._check()
            with body.directory.guard(f"reading transaction indexes of {body.folder}"):
                index = body.transaction_index(segment)
            for aborted in index:
                yield_if_due()
                if is_wanted(aborted, segment):
                    part.append(aborted)
                if len(part) == _ROWS_AT_ONCE:
                    yield partial(self._worker.add_aborted, part)
                    part = []
        if part:
            yield partial(self._worker.add_aborted, part)

    # -- the groups

    def _add_last_records(self) -> Round:
        """Sends the last records of the active producers, a part at a time: no other thread runs while one is encoded.
        Yields."""
        part: dict[int, tuple[int, int]] = {}
        for producer_id, entry in list(self._body.producers.entries.items()):
            if entry.last_offset < self._upper_bound:
                part[producer_id] = (entry.last_offset, entry.producer_epoch)
            if len(part) == _ROWS_AT_ONCE:
                yield partial(self._worker.add_last_records, part)
                part = {}
            yield_if_due()
        if part:
            yield partial(self._worker.add_last_records, part)

    def _rewrite(self, group: list[Segment], rules: RetentionRules) -> Round:
        """Yields."""
        yield from self._add_own_aborted(group)
        self._check_run(group)
        body = self._body
        paths = [group[0].path(suffix) + CLEANED_SUFFIX for suffix in SEGMENT_SUFFIXES]
        with body.directory.guard(f"cleaning {body.folder}"):
            sources = [segment.file() for segment in group]
        try:
            with body.directory.guard(f"cleaning {body.folder}"):
                files = [self._new_file(path) for path in paths]
            log_fd, index_fd, time_index_fd, transaction_index_fd = (file.fd for file in files)
            interval_bytes = body.config.index_interval_bytes
            target = CleanedTarget(
                log_fd, index_fd, time_index_fd, transaction_index_fd, group[0].base_offset, interval_bytes
            )
            ranges = [
                SegmentSource(source.fd, 0, segment.written, 0, 0)
                for source, segment in zip(sources, group, strict=True)
            ]
            rewritten: Rewritten = yield partial(self._worker.rewrite, ranges, target, rules)
            self._check_run(group)
            with body.directory.guard(f"replacing segments of {body.folder}"):
                body.swap_in(group, rewritten.size_bytes)
        except BaseException:
            self._remove(paths)
            raise
        self._count(rewritten)
        # A long round would otherwise need twice the space of the log: the next retention check may be minutes away.
        body.directory.removals.run_due(self._clock.now_ms())
        yield partial(body.directory.disk.file_system.sync_directory, body.folder)
        self._check()

    def _new_file(self, path: str) -> OpenFile:
        file_system = self._body.directory.disk.file_system
        file = OpenFile(file_system, path, create=True)
        file_system.truncate(file.fd, 0)
        return file

    def _remove(self, paths: Sequence[str]) -> None:
        """Removes an incomplete segment, renamed: the next round may write files of the same names before the removal.
        If that fails, the next start does it."""
        if self._log.online:
            with suppress(OSError):
                self._body.directory.removals.retire(paths, 0)

    def _count(self, rewritten: Rewritten) -> None:
        self.stats.bytes_read += rewritten.bytes_read
        self.stats.bytes_kept += rewritten.size_bytes
        self.stats.records_read += rewritten.records_read
        self.stats.records_kept += rewritten.records_kept

    # -- the log meanwhile

    @property
    def made_progress(self) -> bool:
        """Whether the round is complete, and the dirty part has become smaller."""
        return self.stats.end_offset >= 0

    @property
    def is_valid(self) -> bool:
        """Whether the log is as it was when the round began, but for what was appended or deleted from the start."""
        return self._log.online and self._body.truncations == self._truncations and self._is_current()

    def _check(self) -> None:
        if not self.is_valid:
            raise CleaningAborted("the log was truncated, deleted, moved or reconfigured")

    def _check_run(self, segments: Sequence[Segment]) -> None:
        self._check()
        if not self._body.has_run(segments):
            raise CleaningAborted("segments were deleted")

    def _sync_gaps(self) -> None:
        """Makes the checkpoint of gaps durable."""
        directory = self._body.directory
        file_system = directory.disk.file_system
        try:
            file = OpenFile(file_system, os.path.join(directory.path, GAP_OFFSET_FILE))
        except FileNotFoundError:
            return  # without the file, the next start expects gaps anywhere
        file_system.fsync(file.fd)
        file_system.sync_directory(directory.path)
