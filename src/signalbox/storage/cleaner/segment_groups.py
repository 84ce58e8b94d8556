"""Which segments are compacted into one: consecutive ones that together do not exceed the limits of a segment.

They are measured as they are, before the compaction, so that a new segment is never too large. All but the dirty ones
have been compacted before: without the grouping a log would have more and more small segments.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from signalbox.common.cooperative_task import yield_if_due
from signalbox.storage.files.file_names import INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from signalbox.storage.log_config import LogConfig
from signalbox.storage.segments.segment import MAX_RELATIVE_OFFSET, Segment
from signalbox.storage.segments.transaction_index import ENTRY_SIZE_BYTES, MAX_ENTRIES

MOST_SEGMENTS = 32  # their files are renamed in one step of the event loop


def group_segments(segments: Sequence[Segment], end_offset: int, config: LogConfig) -> list[list[Segment]]:
    """`segments` in groups, in order. `end_offset`: where the segment behind the last one begins. Yields."""
    groups: list[list[Segment]] = []
    sizes = [0, 0, 0, 0]
    for slot, segment in enumerate(segments):
        yield_if_due()
        next_offset = segments[slot + 1].base_offset if slot + 1 < len(segments) else end_offset
        suffixes = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
        own = [segment.written, *(_size(segment, suffix) for suffix in suffixes)]
        grown = [before + size for before, size in zip(sizes, own, strict=True)]
        fits = (
            groups
            and len(groups[-1]) < MOST_SEGMENTS
            and grown[0] <= config.segment_bytes
            and max(grown[1:3]) <= config.segment_index_bytes
            and grown[3] <= MAX_ENTRIES * ENTRY_SIZE_BYTES
            and next_offset - 1 - groups[-1][0].base_offset <= MAX_RELATIVE_OFFSET
        )
        if fits:
            groups[-1].append(segment)
            sizes = grown
        else:
            groups.append([segment])
            sizes = own
    return groups


def _size(segment: Segment, suffix: str) -> int:
    try:
        return os.path.getsize(segment.path(suffix))
    except FileNotFoundError:
        return 0
