"""Request metrics: values per API, read by a scrape."""

from __future__ import annotations

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.broker.metrics.request_metrics import FastPathStats, RequestMetrics, request_names
from signalbox.common.endpoint import SecurityProtocol
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import RequestHeader
from signalbox.security.request_context import RequestContext
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


def test_requests_are_summed_until_cleared() -> None:
    stats = FastPathStats()
    stats.add(100, 40, 0.002)
    stats.add(50, 40, 0.001)
    assert (stats.count, stats.request_bytes, stats.response_bytes, stats.longest_s) == (2, 150, 80, 0.002)
    assert round(stats.total_s, 6) == 0.003
    stats.clear()
    assert (stats.count, stats.request_bytes, stats.response_bytes, stats.total_s, stats.longest_s) == (0, 0, 0, 0, 0)


def test_one_sample_represents_all_requests() -> None:
    stats = FastPathStats()
    context = RequestContext("c", "CLIENT", SecurityProtocol.PLAINTEXT, "127.0.0.1", b"\x7f\0\0\1")
    stats.set_sample(RequestHeader(0, 9, 1, "client"), context)
    assert stats.sample is not None
    assert stats.sample.header.client_id == "client"
    assert stats.sample.context is context
