"""The registry behind the metrics page: the metrics of all packages, by Kafka's MBean names.

A name is one family: it has one kind, and one source per set of tags. `server/metrics/metrics_text.py` determines its
name on the page. If a source cannot be read, only its own lines are missing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from signalbox.common.metrics import Counter, Histogram, MetricName, Rows

log = logging.getLogger(__name__)

QUANTILES = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)

Tags = tuple[tuple[str, str], ...]


class Kind(StrEnum):
    """The types of Prometheus that are used here."""

    COUNTER = "counter"
    GAUGE = "gauge"
    SUMMARY = "summary"


class _Counter:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def add(self, amount: float = 1) -> None:
        self.value += amount


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of a scrape. `suffix` is "_count" or "_sum" of a summary, else ""."""

    name: MetricName
    tags: Tags
    kind: Kind
    value: float
    suffix: str = ""


@dataclass(slots=True)
class _Family:
    kind: Kind
    counters: dict[Tags, _Counter] = field(default_factory=dict)
    readers: dict[Tags, Callable[[], float]] = field(default_factory=dict)
    histograms: dict[Tags, Histogram] = field(default_factory=dict)
    read_all: Callable[[], Rows] | None = None


class MetricRegistry:
    """The metrics port of one node."""

    def __init__(self) -> None:
        self._families: dict[MetricName, _Family] = {}
        self._before_scrape: list[Callable[[], None]] = []

    def counter(self, name: MetricName, tags: Mapping[str, str] | None = None) -> Counter:
        return self._family(name, Kind.COUNTER).counters.setdefault(_key(tags), _Counter())

    def counter_from(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        self._family(name, Kind.COUNTER).readers[_key(tags)] = read

    def counters(self, name: MetricName, read: Callable[[], Rows]) -> None:
        self._family(name, Kind.COUNTER).read_all = read

    def histogram(self, name: MetricName, tags: Mapping[str, str] | None = None, window: int = 1_024) -> Histogram:
        return self._family(name, Kind.SUMMARY).histograms.setdefault(_key(tags), Histogram(window))

    def gauge(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        self._family(name, Kind.GAUGE).readers[_key(tags)] = read

    def gauges(self, name: MetricName, read: Callable[[], Rows]) -> None:
        self._family(name, Kind.GAUGE).read_all = read

    def before_scrape(self, settle: Callable[[], None]) -> None:
        self._before_scrape.append(settle)

    def remove(self, name: MetricName, tags: Mapping[str, str] | None = None) -> None:
        family = self._families.get(name)
        if family is None:
            return
        for rows in (family.counters, family.readers, family.histograms):
            rows.pop(_key(tags), None)
        if not (family.counters or family.readers or family.histograms or family.read_all):
            del self._families[name]

    def samples(self) -> Iterator[Sample]:
        """Every current value, family by family."""
        for settle in self._before_scrape:
            settle()
        for name, family in list(self._families.items()):
            for tags, counter in list(family.counters.items()):
                yield Sample(name, tags, family.kind, counter.value)
            for tags, read in list(family.readers.items()):
                try:
                    value = float(read())
                except Exception:
                    log.exception("Metric cannot be read (metric=%s)", name)
                    continue
                yield Sample(name, tags, family.kind, value)
            for tags, histogram in list(family.histograms.items()):
                yield from _summary(name, tags, histogram)
            if family.read_all is not None:
                yield from _rows(name, family.kind, family.read_all)

    def _family(self, name: MetricName, kind: Kind) -> _Family:
        family = self._families.get(name)
        if family is None:
            family = self._families[name] = _Family(kind)
        if family.kind is not kind:
            raise ValueError(f"{name} is a {family.kind}, and was requested as a {kind}")
        return family


def _summary(name: MetricName, tags: Tags, histogram: Histogram) -> Iterator[Sample]:
    yield Sample(name, tags, Kind.SUMMARY, histogram.count, "_count")
    yield Sample(name, tags, Kind.SUMMARY, histogram.total, "_sum")
    if histogram.recent.maxlen:
        for share, value in zip(QUANTILES, histogram.quantiles(QUANTILES), strict=True):
            yield Sample(name, (*tags, ("quantile", str(share))), Kind.SUMMARY, value)


def _rows(name: MetricName, kind: Kind, read: Callable[[], Rows]) -> Iterator[Sample]:
    try:
        for tags, value in read():
            yield Sample(name, _key(tags), kind, value)
    except Exception:
        log.exception("Metric cannot be read (metric=%s)", name)


def _key(tags: Mapping[str, str] | None) -> Tags:
    return tuple(sorted(tags.items())) if tags else ()
