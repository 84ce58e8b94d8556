"""Request metrics: values per API, read by a scrape."""

from __future__ import annotations

from signalbox.broker.fast_path.fast_path_stats import FastPathStats
from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.broker.metrics.request_metrics import RequestMetrics, request_names
from signalbox.protocol.api_table import ApiKey
from tests.metric_values import metric_values


def test_requests_are_named_as_kafka_names_them() -> None:
    assert request_names(ApiKey.API_VERSIONS) == ("ApiVersions",)
    assert request_names(ApiKey.FETCH) == ("Fetch", "FetchConsumer")
    assert request_names(ApiKey.FETCH, from_follower=True) == ("Fetch", "FetchFollower")


def test_one_row_per_name_that_came() -> None:
    registry = MetricRegistry()
    metrics = RequestMetrics(registry)
    assert metric_values(registry) == {}
    metrics.ended(("Fetch", "FetchConsumer"), 12, (100, 1000), 0.5, 0.02)
    metrics.ended(("Fetch", "FetchFollower"), 17, (10, 0), 0.25, 0.01)
    metrics.ended(("Produce",), 9, (1, 2), 0.0, 0.0)
    found = metric_values(registry)
    assert (found["RequestsPerSec", "Fetch", "12"], found["RequestsPerSec", "Fetch", "17"]) == (1, 1)
    assert (found["TotalTimeMs_sum", "Fetch"], found["TotalTimeMs_sum", "FetchFollower"]) == (750, 250)
    assert found["TotalTimeMs", "FetchConsumer", "0.99"] == 500
    assert found["RequestQueueTimeMs_sum", "Fetch"] == 30
    assert (found["RequestBytes_sum", "Fetch"], found["RequestBytes_count", "Fetch"]) == (110, 2)
    assert found["ResponseBytes", "Fetch"] == 1000
    assert found["RequestsPerSec", "Produce", "9"] == 1


def test_the_fast_path_is_settled_before_a_reading() -> None:
    registry = MetricRegistry()
    metrics = RequestMetrics(registry)
    metrics.ended(("Fetch", "FetchConsumer"), 12, (1, 1), 0.0, 0.5)
    stats = FastPathStats()
    stats.durations = metrics.fast_durations(ApiKey.FETCH)

    def settle() -> None:
        if stats.count:
            metrics.fast_path(ApiKey.FETCH, 12, stats)
            stats.clear()

    metrics.before_reading = settle
    stats.add(5, 6, 0.001)
    stats.add(5, 6, 0.001)
    for found in metric_values(registry), metric_values(registry):  # a second scrape adds nothing
        assert (found["RequestsPerSec", "FetchConsumer", "12"], found["RequestBytes_sum", "Fetch"]) == (3, 11)
        assert (found["TotalTimeMs_count", "Fetch"], found["TotalTimeMs", "FetchConsumer", "0.5"]) == (3, 1)
        assert (found["RequestQueueTimeMs_count", "Fetch"], found["RequestQueueTimeMs", "Fetch", "0.5"]) == (3, 0)
