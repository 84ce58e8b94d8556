"""The registry behind the metrics port: what rooms count, by Kafka's MBean names, until somebody scrapes.

Prometheus names are made from the MBean as the usual JMX exporter rules do: `kafka.network:type=RequestMetrics,
name=RequestsPerSec` becomes `kafka_network_requestmetrics_requestspersec`. Histograms keep a bounded window of
recent values and give the quantiles Kafka gives.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from signalbox.common.metrics import Counter, Histogram, MetricName

log = logging.getLogger(__name__)

_WINDOW = 1_024
_QUANTILES = (0.5, 0.75, 0.95, 0.99, 0.999)

Tags = tuple[tuple[str, str], ...]
_Key = tuple[MetricName, Tags]


class _Counter:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def add(self, amount: float = 1) -> None:
        self.value += amount


class _Histogram:
    __slots__ = ("count", "recent", "total")

    def __init__(self) -> None:
        self.recent: deque[float] = deque(maxlen=_WINDOW)
        self.count = 0
        self.total = 0.0

    def record(self, value: float) -> None:
        self.recent.append(value)
        self.count += 1
        self.total += value

    def quantile(self, share: float) -> float:
        """0.0 while nothing was recorded."""
        ordered = sorted(self.recent)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a scrape. `kind` is counter, gauge or summary."""

    name: MetricName
    tags: Tags
    kind: str
    value: float


class MetricRegistry:
    """The metrics port of one node."""

    def __init__(self) -> None:
        self._counters: dict[_Key, _Counter] = {}
        self._histograms: dict[_Key, _Histogram] = {}
        self._gauges: dict[_Key, Callable[[], float]] = {}

    def counter(self, name: MetricName, tags: Mapping[str, str] | None = None) -> Counter:
        key = _key(name, tags)
        found = self._counters.get(key)
        if found is None:
            found = self._counters[key] = _Counter()
        return found

    def histogram(self, name: MetricName, tags: Mapping[str, str] | None = None) -> Histogram:
        key = _key(name, tags)
        found = self._histograms.get(key)
        if found is None:
            found = self._histograms[key] = _Histogram()
        return found

    def gauge(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        self._gauges[_key(name, tags)] = read

    def remove(self, name: MetricName, tags: Mapping[str, str] | None = None) -> None:
        key = _key(name, tags)
        self._counters.pop(key, None)
        self._histograms.pop(key, None)
        self._gauges.pop(key, None)

    def samples(self) -> Iterator[Sample]:
        """Every value as it is now."""
        for (name, tags), counter in list(self._counters.items()):
            yield Sample(name, tags, "counter", counter.value)
        for (name, tags), read in list(self._gauges.items()):
            try:
                value = float(read())
            except Exception:
                # One subject that cannot be read must not cost the whole page.
                log.exception("the gauge %s cannot be read", name)
                continue
            yield Sample(name, tags, "gauge", value)
        for (name, tags), histogram in list(self._histograms.items()):
            yield Sample(name, (*tags, ("stat", "count")), "summary", histogram.count)
            yield Sample(name, (*tags, ("stat", "sum")), "summary", histogram.total)
            for share in _QUANTILES:
                yield Sample(name, (*tags, ("quantile", str(share))), "summary", histogram.quantile(share))


def _key(name: MetricName, tags: Mapping[str, str] | None) -> _Key:
    return name, tuple(sorted(tags.items())) if tags else ()
