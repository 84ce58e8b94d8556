"""Metrics as a port, under Kafka's names.

A metric is named as Kafka names its MBean: group ("kafka.network"), type ("RequestChannel"), name ("RequestQueueSize")
and tags. Metrics that Kafka does not have are in a group `signalbox.<area>`. Frequent counters are plain ints in their
owner, and a callback reads them on a scrape (`counter_from`, `gauge`). Metrics with a row per topic or partition are
read in one pass (`counters`, `gauges`), so that a row costs no memory between scrapes and disappears with its topic or
partition. `counter` and `histogram` are for events that are rare enough for a call each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from typing import NamedTuple, Protocol

_WINDOW = 1_024


class MetricName(NamedTuple):
    """Kafka's MBean name: `group:type=type,name=name`."""

    group: str
    type: str
    name: str


Rows = Iterable[tuple[Mapping[str, str], float]]
"""Tags and current value of each row of a metric."""


class Counter(Protocol):
    def add(self, amount: float = 1) -> None: ...


class Histogram:
    """Count and sum of all values, and a window of recent values for the quantiles (`window` 0: no values are kept)."""

    __slots__ = ("count", "recent", "total")

    def __init__(self, window: int = _WINDOW) -> None:
        self.recent: deque[float] = deque(maxlen=window)
        self.count = 0
        self.total = 0.0

    def record(self, value: float) -> None:
        self.recent.append(value)
        self.count += 1
        self.total += value

    def record_zeros(self, count: int) -> None:
        """`count` values of 0."""
        self.recent.extend(repeat(0.0, min(count, self.recent.maxlen or 0)))
        self.count += count

    def quantiles(self, shares: Iterable[float]) -> list[float]:
        """Quantiles of the recent values, one per share; 0.0 if there is no value."""
        ordered = sorted(self.recent)
        last = len(ordered) - 1
        return [ordered[min(last, int(share * len(ordered)))] if ordered else 0.0 for share in shares]


class Metrics(Protocol):
    """The metrics that a package registers. A second call with the same name and tags returns the same object. A name
    has one kind."""

    def counter(self, name: MetricName, tags: Mapping[str, str] | None = None) -> Counter:
        """A number that only grows."""
        ...

    def counter_from(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        """A number that only grows; its owner keeps it, and a scrape reads it."""
        ...

    def counters(self, name: MetricName, read: Callable[[], Rows]) -> None:
        """Numbers that only grow, one per set of tags, read in one pass on a scrape."""
        ...

    def histogram(self, name: MetricName, tags: Mapping[str, str] | None = None, window: int = _WINDOW) -> Histogram:
        """A distribution; the unit is in the name (Ms, Bytes)."""
        ...

    def gauge(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        """A value that is read on a scrape. A second gauge of the same name and tags replaces the first."""
        ...

    def gauges(self, name: MetricName, read: Callable[[], Rows]) -> None:
        """Values, one per set of tags, read in one pass on a scrape."""
        ...

    def before_scrape(self, settle: Callable[[], None]) -> None:
        """Call `settle` before a scrape reads any value: it brings the counts of its owner up to date."""
        ...

    def remove(self, name: MetricName, tags: Mapping[str, str] | None = None) -> None:
        """Remove a metric whose subject no longer exists (a broker, a removed listener)."""
        ...


class _Nothing:
    __slots__ = ()

    def add(self, amount: float = 1) -> None:
        """Not counted."""


NOT_RECORDED = Histogram(window=0)


class NullMetrics:
    """Metrics without a reader: for tools and tests."""

    _nothing = _Nothing()

    def counter(self, name: MetricName, tags: Mapping[str, str] | None = None) -> Counter:
        return self._nothing

    def counter_from(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        """Never read."""

    def counters(self, name: MetricName, read: Callable[[], Rows]) -> None:
        """Never read."""

    def histogram(self, name: MetricName, tags: Mapping[str, str] | None = None, window: int = _WINDOW) -> Histogram:
        return NOT_RECORDED

    def gauge(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        """Never read."""

    def gauges(self, name: MetricName, read: Callable[[], Rows]) -> None:
        """Never read."""

    def before_scrape(self, settle: Callable[[], None]) -> None:
        """Never called."""

    def remove(self, name: MetricName, tags: Mapping[str, str] | None = None) -> None:
        """No metric is kept."""
