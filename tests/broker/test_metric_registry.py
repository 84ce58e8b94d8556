"""The registry: what was counted, until somebody asks."""

from __future__ import annotations

import pytest

from signalbox.broker.metric_registry import MetricRegistry, Sample
from signalbox.common.metrics import MetricName

NAME = MetricName("kafka.network", "RequestMetrics", "RequestsPerSec")


def test_the_same_name_and_tags_are_the_same_counter() -> None:
    registry = MetricRegistry()
    registry.counter(NAME, {"a": "1", "b": "2"}).add()
    registry.counter(NAME, {"b": "2", "a": "1"}).add(2)
    registry.counter(NAME).add()
    assert list(registry.samples()) == [
        Sample(NAME, (("a", "1"), ("b", "2")), "counter", 3),
        Sample(NAME, (), "counter", 1),
    ]


def test_a_histogram_gives_quantiles_of_what_was_recent_and_sums_of_all() -> None:
    registry = MetricRegistry()
    assert [s.value for s in registry.samples()] == []
    histogram = registry.histogram(NAME)
    for value in range(2000):
        histogram.record(value)
    found = {sample.tags[-1]: sample.value for sample in registry.samples()}
    assert found["stat", "count"] == 2000
    assert found["stat", "sum"] == sum(range(2000))
    assert found["quantile", "0.5"] == 976 + 512  # of the newest 1024
    assert found["quantile", "0.999"] == 1998


def test_an_empty_histogram_is_zero() -> None:
    registry = MetricRegistry()
    registry.histogram(NAME)
    assert {sample.value for sample in registry.samples()} == {0}


def test_a_gauge_is_read_when_asked_and_replaced_by_a_second() -> None:
    registry, seen = MetricRegistry(), [1]
    registry.gauge(NAME, lambda: 99)
    registry.gauge(NAME, lambda: seen[0])
    assert [sample.value for sample in registry.samples()] == [1]
    seen[0] = 2
    assert [sample.value for sample in registry.samples()] == [2]


def test_a_gauge_that_fails_costs_only_itself(caplog: pytest.LogCaptureFixture) -> None:
    registry = MetricRegistry()
    registry.gauge(NAME, lambda: 1 / 0)
    registry.counter(NAME, {"a": "1"}).add()
    assert [sample.kind for sample in registry.samples()] == ["counter"]
    assert "cannot be read" in caplog.text


def test_what_is_removed_is_gone() -> None:
    registry = MetricRegistry()
    registry.counter(NAME, {"a": "1"}).add()
    registry.gauge(NAME, lambda: 1, {"a": "1"})
    registry.histogram(NAME, {"a": "1"})
    registry.remove(NAME, {"a": "1"})
    registry.remove(NAME)
    assert list(registry.samples()) == []
