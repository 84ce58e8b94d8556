"""Which log is compacted next (Kafka's LogCleanerManager): how much of it is dirty, how much of that may be cleaned.

The dirty part begins where the last round ended (`cleaner-offset-checkpoint`). What may not be cleaned: the active
segment, what is behind the last stable offset, and segments with records that are younger than
`min.compaction.lag.ms`. A log is cleaned if the dirty share of its bytes is above `min.cleanable.dirty.ratio`, or if
its oldest dirty records are older than `max.compaction.lag.ms`.
"""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.storage.log import Log
from signalbox.storage.log_body import LogBody
from signalbox.storage.segments.segment import Segment


@dataclass(frozen=True, slots=True)
class LogToClean:
    """`upper_bound_offset`: the first offset that may not be cleaned, where a segment begins. `overdue_ms`: for how
    long records have been dirty beyond `max.compaction.lag.ms`. `truncations`: of the log, when this was determined."""

    log: Log
    truncations: int
    first_dirty_offset: int
    upper_bound_offset: int
    clean_bytes: int
    dirty_bytes: int
    overdue_ms: int

    @property
    def dirty_ratio(self) -> float:
        """The share of the bytes that are dirty and may be cleaned, 0 to 1."""
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0

    @property
    def is_due(self) -> bool:
        """Whether the log is cleaned now."""
        due_by_time = self.overdue_ms > 0 and self.dirty_bytes > 0
        return due_by_time or self.dirty_ratio > self.log.config.min_cleanable_dirty_ratio


def log_to_clean(log: Log, now_ms: int) -> LogToClean:
    """The state of one log. OSError."""
    body = log.body
    first_dirty = first_dirty_offset(log)
    bounds = [log.last_stable_offset, body.segments.active.base_offset]
    if body.config.min_compaction_lag_ms > 0:
        youngest_ms = now_ms - body.config.min_compaction_lag_ms
        young = (s.base_offset for s in _dirty_segments(body, first_dirty) if s.largest_timestamp() > youngest_ms)
        bounds += [next(young, bounds[1])]
    segments = body.segments
    upper_bound = segments[segments.slot_of(max(first_dirty, min(bounds)))].base_offset
    clean_bytes = sum(s.written for s in segments if s.base_offset < first_dirty)
    dirty = [s for s in _dirty_segments(body, first_dirty) if s.base_offset < upper_bound]
    overdue_ms = _overdue_ms(body, first_dirty, now_ms)
    return LogToClean(
        log, body.truncations, first_dirty, upper_bound, clean_bytes, sum(s.written for s in dirty), overdue_ms
    )


def first_dirty_offset(log: Log) -> int:
    """Where the last round ended; the log start if the log has been truncated, or deleted from the start, since."""
    compacted_to = log.body.compacted_to
    return compacted_to if log.log_start_offset <= compacted_to <= log.log_end_offset else log.log_start_offset


def _dirty_segments(body: LogBody, first_dirty: int) -> list[Segment]:
    """All but the active one, the one that contains `first_dirty` included."""
    segments = body.segments
    return [segments[slot] for slot in range(segments.slot_of(first_dirty), len(segments) - 1)]


def _overdue_ms(body: LogBody, first_dirty: int, now_ms: int) -> int:
    lag_ms = body.config.max_compaction_lag_ms
    if lag_ms >= now_ms:
        return 0
    oldest_ms = now_ms
    for segment in _dirty_segments(body, first_dirty):
        batch = next(segment.headers(), None)
        if batch is not None and batch.max_timestamp > 0:
            oldest_ms = min(oldest_ms, batch.max_timestamp)
    return max(0, now_ms - lag_ms - oldest_ms)
