"""Metrics as a port, under Kafka's names.

A metric is named as Kafka names its MBean: group ("kafka.network"), type ("RequestChannel"), name
("RequestQueueSize") and tags. Hot counters are plain ints in their owner that a `gauge` callback reads when
somebody scrapes; `counter` and `histogram` are for events that are rare enough to pay a call each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol


class MetricName(NamedTuple):
    """Kafka's MBean name: `group:type=type,name=name`."""

    group: str
    type: str
    name: str


class Counter(Protocol):
    def add(self, amount: float = 1) -> None: ...


class Histogram(Protocol):
    def record(self, value: float) -> None: ...


class Metrics(Protocol):
    """What a room needs in order to be measured. Asking twice for the same name and tags gives the same one."""

    def counter(self, name: MetricName, tags: Mapping[str, str] | None = None) -> Counter:
        """A number that only grows."""
        ...

    def histogram(self, name: MetricName, tags: Mapping[str, str] | None = None) -> Histogram:
        """A distribution; the unit is in the name (Ms, Bytes)."""
        ...

    def gauge(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        """A value that is read when somebody scrapes. A second gauge of the same name replaces the first."""
        ...

    def remove(self, name: MetricName, tags: Mapping[str, str] | None = None) -> None:
        """Forget a metric whose subject is gone (a deleted partition, a removed listener)."""
        ...


class _Nothing:
    __slots__ = ()

    def add(self, amount: float = 1) -> None:
        """Counted by nobody."""

    def record(self, value: float) -> None:
        """Recorded by nobody."""


NOT_RECORDED: Histogram = _Nothing()


class NullMetrics:
    """Metrics that nobody reads: for tools and tests."""

    _nothing = _Nothing()

    def counter(self, name: MetricName, tags: Mapping[str, str] | None = None) -> Counter:
        return self._nothing

    def histogram(self, name: MetricName, tags: Mapping[str, str] | None = None) -> Histogram:
        return self._nothing

    def gauge(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        """Never read."""

    def remove(self, name: MetricName, tags: Mapping[str, str] | None = None) -> None:
        """Nothing to forget."""
