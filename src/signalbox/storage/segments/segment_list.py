"""The segments of a log in order of their base offsets; the last one is active."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from signalbox.storage.segments.segment import Segment


class SegmentList:
    """Never empty once a log is open. A look-up by offset is a bisection over the base offsets."""

    __slots__ = ("_base_offsets", "_segments", "active")

    def __init__(self, segments: list[Segment]) -> None:
        self._segments = segments
        self._base_offsets = [segment.base_offset for segment in segments]
        self.active = segments[-1]

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __getitem__(self, slot: int) -> Segment:
        return self._segments[slot]

    def slot_of(self, offset: int) -> int:
        """The slot of the segment whose range contains `offset` (the first one for anything older)."""
        return max(bisect_right(self._base_offsets, offset) - 1, 0)

    def end_of(self, slot: int, log_end_offset: int) -> int:
        """The offset after the last one that a segment may contain."""
        return self._base_offsets[slot + 1] if slot + 1 < len(self._segments) else log_end_offset

    def add(self, segment: Segment) -> None:
        """Adds a new active segment."""
        self._segments.append(segment)
        self._base_offsets.append(segment.base_offset)
        self.active = segment

    def replace_run(self, first: int, last: int, new: list[Segment]) -> list[Segment]:
        """Removes the segments of the slots `first` to `last` (inclusive; `last` < `first`: none), puts `new` in their
        place, which may be empty, and returns those that were removed. Raises ValueError, and changes nothing, if no
        segment would be left or base offsets would not ascend."""
        after = max(last + 1, first)
        bases = self._base_offsets
        new_bases = [segment.base_offset for segment in new]
        around = [*bases[max(first - 1, 0) : first], *new_bases, *bases[after : after + 1]]
        if not around:
            raise ValueError("a log needs a segment")
        if any(base_offset >= following for base_offset, following in pairwise(around)):
            raise ValueError(f"base offsets of segments do not ascend: {around}")
        removed = self._segments[first:after]
        segments = [*self._segments[:first], *new, *self._segments[after:]]
        base_offsets = [*bases[:first], *new_bases, *bases[after:]]
        self._segments, self._base_offsets, self.active = segments, base_offsets, segments[-1]
        return removed

    def take_first(self, count: int) -> list[Segment]:
        """Removes the oldest `count` segments and returns them; the active one always stays."""
        return self.replace_run(0, count - 1, [])

    def take_after(self, slot: int) -> list[Segment]:
        """Removes and returns all segments behind `slot`, whose segment becomes the active one."""
        return self.replace_run(slot + 1, len(self) - 1, [])

    def size_bytes(self) -> int:
        """The total size of all log files."""
        return sum(segment.written for segment in self._segments)
