"""The metric registry: counters, gauges and histograms, and their samples."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from signalbox.broker.metrics.metric_registry import Kind, MetricRegistry, Sample
from signalbox.common.metrics import MetricName

NAME = MetricName("kafka.network", "RequestMetrics", "RequestsPerSec")
OTHER = MetricName("kafka.network", "RequestMetrics", "TotalTimeMs")


def test_the_same_name_and_tags_are_the_same_counter() -> None:
    registry = MetricRegistry()
    registry.counter(NAME, {"a": "1", "b": "2"}).add()
    registry.counter(NAME, {"b": "2", "a": "1"}).add(2)
    registry.counter(NAME).add()
    assert list(registry.samples()) == [
        Sample(NAME, (("a", "1"), ("b", "2")), Kind.COUNTER, 3),
        Sample(NAME, (), Kind.COUNTER, 1),
    ]


def test_a_histogram_gives_quantiles_of_what_was_recent_and_sums_of_all() -> None:
    registry = MetricRegistry()
    assert [s.value for s in registry.samples()] == []
    histogram = registry.histogram(NAME, {"a": "1"})
    for value in range(2000):
        histogram.record(value)
    found = {(sample.suffix, sample.tags[-1]): sample.value for sample in registry.samples()}
    assert found["_count", ("a", "1")] == 2000
    assert found["_sum", ("a", "1")] == sum(range(2000))
    assert found["", ("quantile", "0.5")] == 976 + 512  # median of the newest 1024 values
    assert found["", ("quantile", "0.999")] == 1998


def test_an_empty_histogram_is_zero_and_one_without_a_window_has_no_quantiles() -> None:
    registry = MetricRegistry()
    registry.histogram(NAME)
    registry.histogram(OTHER, window=0).record(3)
    assert {sample.value for sample in registry.samples() if sample.name == NAME} == {0}
    assert [(s.suffix, s.value) for s in registry.samples() if s.name == OTHER] == [("_count", 1), ("_sum", 3)]


def test_a_gauge_is_read_on_a_scrape_and_replaced_by_a_second() -> None:
    registry, seen = MetricRegistry(), [1]
    registry.gauge(NAME, lambda: 99)
    registry.gauge(NAME, lambda: seen[0])
    assert [sample.value for sample in registry.samples()] == [1]
    seen[0] = 2
    assert [sample.value for sample in registry.samples()] == [2]


def test_counters_that_their_owners_keep_are_read_on_a_scrape() -> None:
    registry, kept = MetricRegistry(), {"a": 1, "b": 2}
    registry.before_scrape(lambda: kept.update(a=5))
    registry.counters(NAME, lambda: (({"topic": topic}, count) for topic, count in kept.items()))
    registry.counter_from(OTHER, lambda: kept["a"])
    assert list(registry.samples()) == [
        Sample(NAME, (("topic", "a"),), Kind.COUNTER, 5),
        Sample(NAME, (("topic", "b"),), Kind.COUNTER, 2),
        Sample(OTHER, (), Kind.COUNTER, 5),
    ]
    del kept["b"]
    assert len(list(registry.samples())) == 2


def test_a_metric_that_cannot_be_read_costs_only_itself(caplog: pytest.LogCaptureFixture) -> None:
    registry = MetricRegistry()
    registry.gauge(NAME, lambda: 1 / 0)
    registry.gauge(NAME, lambda: 7, {"a": "1"})

    def rows() -> Iterator[tuple[dict[str, str], float]]:
        yield {"b": "1"}, 1
        raise ValueError

    registry.gauges(OTHER, rows)
    assert [sample.value for sample in registry.samples()] == [7, 1]
    assert caplog.text.count("cannot be read") == 2


def test_a_name_has_one_kind() -> None:
    registry = MetricRegistry()
    registry.gauge(NAME, lambda: 1)
    with pytest.raises(ValueError, match="is a gauge, and was requested as a counter"):
        registry.counter(NAME)


def test_removed_metrics_are_not_exported() -> None:
    registry = MetricRegistry()
    registry.counter(NAME, {"a": "1"}).add()
    registry.counter_from(NAME, lambda: 1)
    registry.histogram(OTHER, {"a": "1"})
    registry.remove(NAME, {"a": "1"})
    registry.remove(NAME)
    registry.remove(OTHER, {"a": "1"})
    registry.remove(OTHER)
    assert list(registry.samples()) == []
    registry.gauge(NAME, lambda: 1)  # the kind of the removed name is forgotten too
