"""Kafka's request metrics, kept as plain numbers per API and read on a scrape.

Requests have Kafka's names: the API, and for Fetch also FetchConsumer or FetchFollower. TotalTimeMs is measured from
the last byte of the request until its response is in the connection's output; RequestQueueTimeMs until a handler takes
the request. The fast path takes a request as soon as it is read, so its queue time is 0. LocalTimeMs, RemoteTimeMs,
ResponseQueueTimeMs and ResponseSendTimeMs are not measured and not exported.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator

from signalbox.broker.api_request import ApiRequest
from signalbox.common.metrics import MetricName, Metrics
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.headers import RequestHeader
from signalbox.security.request_context import RequestContext

_TYPE = "RequestMetrics"
_REQUESTS = MetricName("kafka.network", _TYPE, "RequestsPerSec")
_QUEUE_TIME = MetricName("kafka.network", _TYPE, "RequestQueueTimeMs")
_TOTAL_TIME = MetricName("kafka.network", _TYPE, "TotalTimeMs")
_REQUEST_BYTES = MetricName("kafka.network", _TYPE, "RequestBytes")
_RESPONSE_BYTES = MetricName("signalbox.network", _TYPE, "ResponseBytes")
_FAST_PATH_WINDOW = 1_024

_Rows = Iterator[tuple[dict[str, str], float]]


class _Api:
    """Metrics of one request name; times in ms."""

    __slots__ = ("queue_time", "request_bytes", "response_bytes", "total_time", "versions")

    def __init__(self, metrics: Metrics, name: str) -> None:
        tags = {"request": name}
        self.versions: Counter[int] = Counter()
        self.total_time = metrics.histogram(_TOTAL_TIME, tags)
        self.queue_time = metrics.histogram(_QUEUE_TIME, tags)
        self.request_bytes = metrics.histogram(_REQUEST_BYTES, tags, window=0)
        self.response_bytes = 0


class RequestMetrics:
    """One row per request name received at least once. `before_reading` adds the counts of the fast path before a
    scrape."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._apis: dict[str, _Api] = {}
        self._fast: dict[ApiKey, deque[float]] = {}
        self.before_reading: Callable[[], None] = lambda: None
        metrics.before_scrape(lambda: self.before_reading())
        metrics.counters(_REQUESTS, self._requests)
        metrics.counters(_RESPONSE_BYTES, self._response_bytes)

    def ended(
        self, names: tuple[str, ...], version: int, sizes: tuple[int, int], duration_s: float, queue_s: float
    ) -> None:
        """Count one completed request under each of `names`. `sizes`: bytes of request and response."""
        for name in names:
            api = self._api(name)
            api.versions[version] += 1
            api.request_bytes.record(sizes[0])
            api.response_bytes += sizes[1]
            api.total_time.record(duration_s * 1000)
            api.queue_time.record(queue_s * 1000)

    def fast_durations(self, api_key: ApiKey) -> deque[float]:
        """The queue to which connections add the latest durations (s) of their fast-path requests of an API."""
        return self._fast.setdefault(api_key, deque(maxlen=_FAST_PATH_WINDOW))

    def fast_path(self, api_key: ApiKey, version: int, stats: FastPathStats) -> None:
        """Count fast-path requests in bulk."""
        recent = [duration_s * 1000 for duration_s in self.fast_durations(api_key)]
        self.fast_durations(api_key).clear()
        for name in request_names(api_key):
            api = self._api(name)
            api.versions[version] += stats.count
            api.request_bytes.count += stats.count
            api.request_bytes.total += stats.request_bytes
            api.response_bytes += stats.response_bytes
            api.total_time.recent.extend(recent)
            api.total_time.count += stats.count
            api.total_time.total += stats.total_s * 1000
            api.queue_time.record_zeros(stats.count)

    def _api(self, name: str) -> _Api:
        api = self._apis.get(name)
        if api is None:
            api = self._apis[name] = _Api(self._metrics, name)
        return api

    def _requests(self) -> _Rows:
        for name, api in list(self._apis.items()):
            for version, count in list(api.versions.items()):
                yield {"request": name, "version": str(version)}, count

    def _response_bytes(self) -> _Rows:
        for name, api in list(self._apis.items()):
            yield {"request": name}, api.response_bytes


def request_names(api_key: ApiKey, from_follower: bool = False) -> tuple[str, ...]:
    """The names under which a request is counted."""
    name = API_TABLE[api_key].name
    if api_key is not ApiKey.FETCH:
        return (name,)
    return name, "FetchFollower" if from_follower else "FetchConsumer"


class FastPathStats:
    """Requests of one connection at one version of one API since the last settlement: before a metrics scrape, before
    roll-ups are written, and when the connection is closed. The generic path observes its requests one by one. `sample`
    represents all of them in the audit trail: its header has the client id. `durations` (s) is shared by all
    connections: it keeps the latest ones for the quantiles."""

    __slots__ = ("count", "durations", "longest_s", "request_bytes", "response_bytes", "sample", "total_s")

    def __init__(self) -> None:
        self.durations: deque[float] = deque(maxlen=0)
        self.sample: ApiRequest | None = None
        self.clear()

    def clear(self) -> None:
        """Reset all numbers."""
        self.count = self.request_bytes = self.response_bytes = 0
        self.total_s = self.longest_s = 0.0

    def set_sample(self, header: RequestHeader, context: RequestContext) -> None:
        """Set the sample that represents the requests counted from now on."""
        self.sample = ApiRequest(header, None, context, b"", 0.0)

    def add(self, request_bytes: int, response_bytes: int, duration_s: float) -> None:
        """Count one completed request."""
        self.count += 1
        self.request_bytes += request_bytes
        self.response_bytes += response_bytes
        self.total_s += duration_s
        self.durations.append(duration_s)
        if duration_s > self.longest_s:
            self.longest_s = duration_s
