"""Which segments of a log may be deleted: by time, by size, and by its start offset (DeleteRecords).

Only complete segments from the oldest on, only below the high watermark. The active one counts too if it is too old;
the log then rolls first. A segment in which no record has a timestamp (-1) is as old as its file.
"""

from __future__ import annotations

from signalbox.storage.log_body import LogBody
from signalbox.storage.segments.segment import NEVER_MS


def deletable_segments(body: LogBody, high_watermark: int, log_end_offset: int, now_ms: int) -> list[str]:
    """The reason for each segment that can be deleted, oldest first; the list ends at the first one that stays.
    OSError."""
    segments = body.segments
    config = body.config
    excess_bytes = segments.size_bytes() - config.retention_bytes if config.retention_bytes >= 0 else 0
    reasons: list[str] = []
    for slot, segment in enumerate(segments):
        end_offset = segments.end_of(slot, log_end_offset)
        active = segment is segments.active
        if end_offset > high_watermark or (active and segment.size == 0):
            break
        before_start = end_offset <= body.log_start_offset and not active
        too_old = (
            config.deletes and config.retention_ms >= 0 and now_ms - segment.largest_timestamp() > config.retention_ms
        )
        too_large = config.deletes and segment.written <= excess_bytes > 0 and not active
        if not (before_start or too_old or too_large):
            break
        excess_bytes -= segment.written
        reasons.append(
            f"retention.ms={config.retention_ms}"
            if too_old
            else f"retention.bytes={config.retention_bytes}"
            if too_large
            else "before the log start offset"
        )
    return reasons


def is_due_without_timestamp(body: LogBody, now_ms: int) -> bool:
    """Whether the active segment must be rolled by the broker's clock: its first batch has no timestamp from which an
    append could count `segment.ms`. Counted from the first call for the segment, in this run."""
    active = body.segments.active
    if active.size == 0 or active.first_timestamp != NEVER_MS:
        return False
    active.without_timestamp_since_ms = min(active.without_timestamp_since_ms, now_ms)
    return now_ms - active.without_timestamp_since_ms > body.roll_ms
