"""What the rules remember about times: how many misroutes there were around an event, and about what an alert was just
written.

Both go by the times of the events, in whatever order they come: the clocks of brokers differ, and one may be an hour
ahead or be set back. Nothing is compared with the latest time seen, so that an event of the future hides no other. The
memory is limited by number, not by time, for the same reason: what was used least recently is forgotten.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

SLICE_MS = 5_000
"""Misroutes are added up for so long: a batch of a day has 17,280 slices of a pair, whatever the number of events."""
MOST_SLICES = 256
MOST_QUIET = 16


@dataclass(slots=True)
class _Slice:
    first_ms: int
    last_ms: int
    count: int


@dataclass(slots=True)
class CountWindow:
    """Counts of events in slices of SLICE_MS, the least recently used first, at most MOST_SLICES."""

    _slices: dict[int, _Slice] = field(default_factory=dict)

    def add(self, first_ms: int, last_ms: int, count: int, window_ms: int) -> int:
        """Adds events of one slice. Returns the most events that were so close together that `window_ms` holds them,
        of all such times that include these events: earlier and later ones count, whichever came first."""
        number = first_ms // SLICE_MS
        own = self._slices.pop(number, None) or _Slice(first_ms, last_ms, 0)
        own = _Slice(min(own.first_ms, first_ms), max(own.last_ms, last_ms), own.count + count)
        self._slices[number] = own
        if len(self._slices) > MOST_SLICES:
            del self._slices[next(iter(self._slices))]
        begins = [each.first_ms for each in self._slices.values() if last_ms - window_ms <= each.first_ms <= first_ms]
        return max((self._from(begin, begin + window_ms) for begin in begins), default=count)

    def _from(self, begin_ms: int, end_ms: int) -> int:
        return sum(each.count for each in self._slices.values() if begin_ms <= each.first_ms and each.last_ms <= end_ms)

    def copied(self) -> CountWindow:
        """A copy that can be changed by itself. Slices are replaced, never changed."""
        return CountWindow(dict(self._slices))


@dataclass(slots=True)
class QuietTimes:
    """The times of the newest alerts about one thing, at most MOST_QUIET: as many clocks may differ."""

    _alerted_ms: deque[int] = field(default_factory=lambda: deque(maxlen=MOST_QUIET))

    def is_quiet(self, at_ms: int, quiet_ms: int) -> bool:
        """Whether an alert was less than `quiet_ms` before or after this time. An event that is clearly earlier or
        later than every alert is none of theirs."""
        return any(abs(at_ms - alerted_ms) < quiet_ms for alerted_ms in self._alerted_ms)

    def note(self, at_ms: int) -> None:
        """An alert was written for an event of this time."""
        self._alerted_ms.append(at_ms)

    def copied(self) -> QuietTimes:
        """A copy that can be changed by itself."""
        return QuietTimes(self._alerted_ms.copy())
