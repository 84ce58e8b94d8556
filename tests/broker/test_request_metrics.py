"""Request metrics: plain numbers per API, read when somebody scrapes."""

from __future__ import annotations

from signalbox.broker.hot_tally import HotTally
from signalbox.broker.metric_registry import MetricRegistry
from signalbox.broker.request_metrics import RequestMetrics
from signalbox.protocol.api_table import ApiKey


def values(registry: MetricRegistry) -> dict[tuple[str, str], float]:
    return {(sample.name.name, dict(sample.tags)["request"]): sample.value for sample in registry.samples()}


def test_one_row_per_api_that_was_asked() -> None:
    registry = MetricRegistry()
    metrics = RequestMetrics(registry)
    assert values(registry) == {}
    metrics.ended(ApiKey.FETCH, 100, 1000, 0.5, 0.02)
    metrics.ended(ApiKey.FETCH, 10, 0, 0.25, 0.01)
    metrics.ended(ApiKey.PRODUCE, 1, 2, 0.0, 0.0)
    found = values(registry)
    assert found["RequestsPerSec", "FETCH"] == 2
    assert found["TotalTimeMs", "FETCH"] == 750
    assert found["RequestQueueTimeMs", "FETCH"] == 30
    assert (found["RequestBytes", "FETCH"], found["ResponseBytes", "FETCH"]) == (110, 1000)
    assert found["RequestsPerSec", "PRODUCE"] == 1


def test_hot_requests_are_told_before_a_reading() -> None:
    registry = MetricRegistry()
    metrics = RequestMetrics(registry)
    metrics.ended(ApiKey.FETCH, 1, 1, 0.0, 0.0)
    tally = HotTally()

    def settle() -> None:
        if tally.count:
            metrics.hot(ApiKey.FETCH, tally)
            tally.clear()

    metrics.before_reading = settle
    tally.add(5, 6, 0.001)
    tally.add(5, 6, 0.001)
    found = values(registry)
    assert (found["RequestsPerSec", "FETCH"], found["RequestBytes", "FETCH"]) == (3, 11)
