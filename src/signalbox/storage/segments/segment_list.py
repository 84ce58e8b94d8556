"""The segments of a log in order of their base offsets; the last one is active."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

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

    def take_first(self, count: int) -> list[Segment]:
        """Removes the oldest `count` segments and returns them; the active one always stays."""
        removed = self._segments[:count]
        del self._segments[:count]
        del self._base_offsets[:count]
        return removed

    def take_after(self, slot: int) -> list[Segment]:
        """Removes and returns all segments behind `slot`, whose segment becomes the active one."""
        removed = self._segments[slot + 1 :]
        del self._segments[slot + 1 :]
        del self._base_offsets[slot + 1 :]
        self.active = self._segments[-1]
        return removed

    def replace_all(self, segment: Segment) -> list[Segment]:
        """Removes and returns all segments and starts again with `segment`."""
        removed = self._segments
        self._segments, self._base_offsets, self.active = [segment], [segment.base_offset], segment
        return removed

    def size_bytes(self) -> int:
        """The total size of all log files."""
        return sum(segment.written for segment in self._segments)
