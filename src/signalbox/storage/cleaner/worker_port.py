"""The port between the log cleaner, which decides and swaps files, and the worker, which reads and rewrites records.

A worker has no names of files: it gets open files. So a worker process that outlives its broker for a moment cannot
touch a file that the next broker has created under the same name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from signalbox.storage.cleaner.batch_retention import RetentionRules
from signalbox.storage.segments.transaction_index import AbortedTransaction


class CleaningFault(Exception):
    """The records of a log cannot be compacted: corrupt, or not readable. The partition is not cleaned any more.
    `offset`: of the batch, -1 if it is not known."""

    def __init__(self, message: str, offset: int = -1) -> None:
        super().__init__(message)
        self.offset = offset


class WorkerLost(Exception):
    """The worker process has ended, or had an unexpected error; another round may succeed."""


class WorkerOutdated(Exception):
    """Another version of the program is installed than the one that runs: rounds succeed after a restart."""


@dataclass(frozen=True, slots=True)
class SegmentSource:
    """The batches of a segment's file between two positions. `start_offset`: records before it are not mapped;
    `next_offset`: where the next segment begins."""

    fd: int
    position: int
    end: int
    start_offset: int
    next_offset: int


@dataclass(frozen=True, slots=True)
class CleanedTarget:
    """The empty files of the new segment."""

    log_fd: int
    index_fd: int
    time_index_fd: int
    transaction_index_fd: int
    base_offset: int
    index_interval_bytes: int


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """Memory in bytes, and the rate in bytes per second, read and written together."""

    map_bytes: int
    io_buffer_bytes: int
    bytes_per_second: float


@dataclass(frozen=True, slots=True)
class Mapped:
    """`latest_offset`: the log is in the map up to here. `is_full`: the map has no room for the rest."""

    latest_offset: int
    utilization: float
    is_full: bool = False


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The new segment's size, and what was read for it, in bytes and records."""

    size_bytes: int
    bytes_read: int
    records_read: int
    records_kept: int


class CleaningWorker(Protocol):
    """Calls block, so they are made in the background. All raise OSError, CleaningFault and WorkerLost, `begin`
    also WorkerOutdated."""

    def begin(self, limits: WorkerLimits) -> None:
        """Begins a round with an empty map."""
        ...

    def map_segment(self, source: SegmentSource) -> Mapped:
        """Puts the keys of a dirty segment into the map; one call for each, in order."""
        ...

    def add_aborted(self, aborted: Sequence[AbortedTransaction]) -> None:
        """A part of the aborted transactions, before the segment with their first batches is mapped, and again before
        it is rewritten."""
        ...

    def begin_rewriting(self) -> None:
        """The map is complete: the segments follow again, from the start of the log on."""
        ...

    def add_last_records(self, last_records: Mapping[int, tuple[int, int]]) -> None:
        """A part of `RetentionRules.last_records`, before the first group: one call for all would take long."""
        ...

    def rewrite(self, sources: Sequence[SegmentSource], target: CleanedTarget, rules: RetentionRules) -> Rewritten:
        """Writes what is left of a group of segments to `target`, durably; one call for each group, in order.
        `rules` has no last records."""
        ...

    def close(self) -> None:
        """Ends the worker, and waits for its end. In the background, like a call."""
        ...

    def kill(self) -> None:
        """Makes a call that is running end with WorkerLost, from another thread; does not wait. A round may begin
        afterwards."""
        ...
