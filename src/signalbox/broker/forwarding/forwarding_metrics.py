"""Metrics of forwarding (F16): requests by client id, in flight and in total, and failures.

Names in `kafka.server` are those of KIP-590: of its drafts (`num-...`, `request-forwarding-...`) and of its final text
(`NumRequestsForwardingToControllerPerSec`, a meter whose count is the counter here). `num-client-forwarding-to-
controller-count` is the number of clients that wait for the controller now; its rate is how many clients per second
begin to wait. Metrics that the KIP does not name are in `signalbox.broker`.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable

from signalbox.common.clock import Clock
from signalbox.common.limits import MAX_CLIENT_IDS_COUNTED
from signalbox.common.metrics import MetricName, Metrics
from signalbox.protocol.error_table import Error

_GROUP, _TYPE = "kafka.server", "ForwardingManager"
_BY_CLIENT = MetricName(_GROUP, "RequestMetrics", "NumRequestsForwardingToControllerPerSec")
_OWN = "signalbox.broker"
_FAILED = MetricName(_OWN, _TYPE, "ForwardingFailures")


class ForwardingMetrics:
    """One per broker. `controller_id` returns the active controller that this broker knows; -1 for none."""

    def __init__(self, metrics: Metrics, clock: Clock, controller_id: Callable[[], int]) -> None:
        self._metrics = metrics
        self._client_ids: set[str] = set()
        self._waiting: Counter[str] = Counter()
        self._clients, self._messages = EventRate(clock), EventRate(clock)
        self.in_flight = 0
        self.total = 0
        self.authorization_failures = 0
        for group, name, read in (
            (_OWN, "ActiveControllerId", controller_id),
            (_OWN, "RequestsForwardingInFlight", lambda: self.in_flight),
            (_GROUP, "num-client-forwarding-to-controller-count", lambda: len(self._waiting)),
            (_GROUP, "num-client-forwarding-to-controller-rate", self._clients.per_second),
            (_GROUP, "num-messages-redirected-rate", self._messages.per_second),
        ):
            metrics.gauge(MetricName(group, _TYPE, name), read)
        for name, count in (
            ("num-messages-redirected-count", lambda: self.total),
            ("request-forwarding-to-controller-authorization-fail-count", lambda: self.authorization_failures),
        ):
            metrics.counter_from(MetricName(_GROUP, _TYPE, name), count)

    def started(self, client_id: str | None) -> None:
        """A request of this client is forwarded to the controller; `ended` is called after success and failure."""
        client = client_id or ""
        self.in_flight += 1
        self.total += 1
        self._messages.add()
        self._waiting[client] += 1
        if self._waiting[client] == 1:
            self._clients.add()
        self._metrics.counter(_BY_CLIENT, {"clientId": self._counted_as(client)}).add()

    def ended(self, client_id: str | None) -> None:
        client = client_id or ""
        self.in_flight -= 1
        self._waiting[client] -= 1
        if not self._waiting[client]:
            del self._waiting[client]

    def failed(self, error: Error) -> None:
        """Count a request that the controller rejected or did not respond to."""
        if error is Error.CLUSTER_AUTHORIZATION_FAILED:
            self.authorization_failures += 1
        self._metrics.counter(_FAILED, {"error": error.name}).add()

    def _counted_as(self, client: str) -> str:
        if client not in self._client_ids:
            # A client can send any number of client ids; above the maximum they share one row.
            client = client if len(self._client_ids) < MAX_CLIENT_IDS_COUNTED else "other"
            self._client_ids.add(client)
        return client


WINDOW_S = 30


class EventRate:
    """Events per second over the last 30 seconds, counted per second, with one small list per second that has
    events."""

    __slots__ = ("_clock", "_seconds")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seconds: deque[list[int]] = deque()  # [second, events in it]

    def add(self) -> None:
        """Count one event."""
        now = int(self._clock.monotonic())
        if self._seconds and self._seconds[-1][0] == now:
            self._seconds[-1][1] += 1
        else:
            self._forget(now)
            self._seconds.append([now, 1])

    def per_second(self) -> float:
        """Mean over the window, also when the first event is less than one window ago."""
        self._forget(int(self._clock.monotonic()))
        return sum(events for _, events in self._seconds) / WINDOW_S

    def _forget(self, now: int) -> None:
        while self._seconds and self._seconds[0][0] <= now - WINDOW_S:
            self._seconds.popleft()
