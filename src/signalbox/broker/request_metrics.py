"""Kafka's request metrics, kept as plain numbers per API and read when somebody scrapes.

Times are sums since the start: their growth over the growth of the count is a mean over any stretch of time. What took
the hot path waited for nobody after it was read, so it adds nothing to the queue time.
"""

from __future__ import annotations

from collections.abc import Callable

from signalbox.broker.hot_tally import HotTally
from signalbox.common.metrics import MetricName, Metrics
from signalbox.protocol.api_table import ApiKey

_GROUP, _TYPE = "kafka.network", "RequestMetrics"
_REQUESTS = MetricName(_GROUP, _TYPE, "RequestsPerSec")
_QUEUE_TIME = MetricName(_GROUP, _TYPE, "RequestQueueTimeMs")
_TOTAL_TIME = MetricName(_GROUP, _TYPE, "TotalTimeMs")
_REQUEST_BYTES = MetricName(_GROUP, _TYPE, "RequestBytes")
_RESPONSE_BYTES = MetricName(_GROUP, _TYPE, "ResponseBytes")


class _Api:
    __slots__ = ("count", "queue_s", "request_bytes", "response_bytes", "total_s")

    def __init__(self) -> None:
        self.count = self.request_bytes = self.response_bytes = 0
        self.queue_s = self.total_s = 0.0


class RequestMetrics:
    """One row per API that was asked at least once."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._apis: dict[int, _Api] = {}
        self.before_reading: Callable[[], None] = _nothing  # who counts by himself tells it before a scrape

    def ended(
        self, api_key: ApiKey, request_bytes: int, response_bytes: int, duration_s: float, queue_s: float
    ) -> None:
        api = self._apis.get(api_key) or self._first(api_key)
        api.count += 1
        api.request_bytes += request_bytes
        api.response_bytes += response_bytes
        api.total_s += duration_s
        api.queue_s += queue_s

    def hot(self, api_key: ApiKey, tally: HotTally) -> None:
        """Requests that took the hot path, told in bulk."""
        api = self._apis.get(api_key) or self._first(api_key)
        api.count += tally.count
        api.request_bytes += tally.request_bytes
        api.response_bytes += tally.response_bytes
        api.total_s += tally.total_s

    def _first(self, api_key: ApiKey) -> _Api:
        api = self._apis[api_key] = _Api()
        tags = {"request": api_key.name}

        def settled() -> _Api:
            self.before_reading()
            return api

        self._metrics.gauge(_REQUESTS, lambda: settled().count, tags)
        self._metrics.gauge(_QUEUE_TIME, lambda: settled().queue_s * 1000, tags)
        self._metrics.gauge(_TOTAL_TIME, lambda: settled().total_s * 1000, tags)
        self._metrics.gauge(_REQUEST_BYTES, lambda: settled().request_bytes, tags)
        self._metrics.gauge(_RESPONSE_BYTES, lambda: settled().response_bytes, tags)
        return api


def _nothing() -> None:
    """Nobody counts by himself."""
