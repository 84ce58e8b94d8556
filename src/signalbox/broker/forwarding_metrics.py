"""What is counted about forwarding (F16): by client id, in flight, in total, and refused by the controller."""

from __future__ import annotations

from signalbox.common.limits import MAX_CLIENT_IDS_COUNTED
from signalbox.common.metrics import MetricName, Metrics
from signalbox.protocol.error_table import Error

_GROUP = "kafka.server"
_BY_CLIENT = MetricName(_GROUP, "ForwardingManager", "NumRequestsForwardingToControllerPerSec")
_IN_FLIGHT = MetricName(_GROUP, "ForwardingManager", "RequestsForwardingInFlight")
_TOTAL = MetricName(_GROUP, "ForwardingManager", "num-messages-redirected-count")
_AUTHORIZATION = MetricName(_GROUP, "ForwardingManager", "request-forwarding-to-controller-authorization-fail-count")
_FAILED = MetricName(_GROUP, "ForwardingManager", "ForwardingFailuresPerSec")


class ForwardingMetrics:
    """Counters of one broker's forwarding; `total` and `in_flight` are read by tests and by the report."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._client_ids: set[str] = set()
        self.in_flight = 0
        self.total = 0
        self.authorization_failures = 0
        metrics.gauge(_IN_FLIGHT, lambda: self.in_flight)
        metrics.gauge(_TOTAL, lambda: self.total)
        metrics.gauge(_AUTHORIZATION, lambda: self.authorization_failures)

    def started(self, client_id: str | None) -> None:
        self.in_flight += 1
        self.total += 1
        name = client_id or ""
        if name not in self._client_ids:
            # A peer may invent client ids for ever; past the cap they share one row.
            name = name if len(self._client_ids) < MAX_CLIENT_IDS_COUNTED else "other"
            self._client_ids.add(name)
        self._metrics.counter(_BY_CLIENT, {"clientId": name}).add()

    def ended(self) -> None:
        self.in_flight -= 1

    def failed(self, error: Error) -> None:
        if error is Error.CLUSTER_AUTHORIZATION_FAILED:
            self.authorization_failures += 1
        self._metrics.counter(_FAILED, {"error": error.name}).add()
