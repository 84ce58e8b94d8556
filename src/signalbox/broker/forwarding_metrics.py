"""What is counted about forwarding (F16): by client id, in flight, in total, and what went wrong.

Names are those of KIP-590: of its drafts (`num-...`, `request-forwarding-...`) and of its final text
(`NumRequestsForwardingToControllerPerSec`, a meter whose count is the counter here). `num-client-forwarding-to-
controller-count` is the number of clients that wait for the controller now, its rate how often one begins to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from signalbox.broker.event_rate import EventRate
from signalbox.common.clock import Clock
from signalbox.common.limits import MAX_CLIENT_IDS_COUNTED
from signalbox.common.metrics import MetricName, Metrics
from signalbox.protocol.error_table import Error

_GROUP, _TYPE = "kafka.server", "ForwardingManager"
_BY_CLIENT = MetricName(_GROUP, "RequestMetrics", "NumRequestsForwardingToControllerPerSec")
_FAILED = MetricName(_GROUP, _TYPE, "ForwardingFailuresPerSec")


class ForwardingMetrics:
    """Of one broker. `controller_id`: whom it takes for the active controller, -1 nobody."""

    def __init__(self, metrics: Metrics, clock: Clock, controller_id: Callable[[], int]) -> None:
        self._metrics = metrics
        self._client_ids: set[str] = set()
        self._waiting: Counter[str] = Counter()
        self._clients, self._messages = EventRate(clock), EventRate(clock)
        self.in_flight = 0
        self.total = 0
        self.authorization_failures = 0
        gauges: dict[str, Callable[[], float]] = {
            "ActiveControllerId": controller_id,
            "RequestsForwardingInFlight": lambda: self.in_flight,
            "num-client-forwarding-to-controller-count": lambda: len(self._waiting),
            "num-client-forwarding-to-controller-rate": self._clients.per_second,
            "num-messages-redirected-count": lambda: self.total,
            "num-messages-redirected-rate": self._messages.per_second,
            "request-forwarding-to-controller-authorization-fail-count": lambda: self.authorization_failures,
        }
        for name, read in gauges.items():
            metrics.gauge(MetricName(_GROUP, _TYPE, name), read)

    def started(self, client_id: str | None) -> None:
        """A request of this client goes to the controller; `ended` follows, whatever comes of it."""
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
        """Why the controller did not take a request, or no answer came."""
        if error is Error.CLUSTER_AUTHORIZATION_FAILED:
            self.authorization_failures += 1
        self._metrics.counter(_FAILED, {"error": error.name}).add()

    def _counted_as(self, client: str) -> str:
        if client not in self._client_ids:
            # A peer may invent client ids for ever; past the cap they share one row.
            client = client if len(self._client_ids) < MAX_CLIENT_IDS_COUNTED else "other"
            self._client_ids.add(client)
        return client
