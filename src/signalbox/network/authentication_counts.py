"""Successful and failed authentications on a listener: the totals of Kafka's socket-server-metrics.

As in Kafka a TLS handshake counts like a SASL login, and PLAINTEXT, which does not authenticate, does not count. A peer
that disconnects during its login counts as neither; one that is closed because of the timeout counts as failed.
"""

from __future__ import annotations

from signalbox.common.metrics import MetricName, Metrics

_GROUP, _TYPE = "kafka.server", "socket-server-metrics"
_REAUTHENTICATION_TIME = MetricName("signalbox.network", "SocketServer", "ReauthenticationTimeMs")


class AuthenticationCounts:
    """Counters of one listener. `again_...` are re-authentications (KIP-368), whose latency runs from the SaslHandshake
    to the last response; `succeeded_for_good` are logins of clients too old for re-authentication, `expired` are
    connections that were closed because their session had expired."""

    __slots__ = (
        "again_failed", "again_latency", "again_succeeded", "expired", "failed", "succeeded", "succeeded_for_good",
    )  # fmt: skip

    def __init__(self, metrics: Metrics, listener: str) -> None:
        tags = {"listener": listener, "networkProcessor": "0"}
        self.succeeded = metrics.counter(MetricName(_GROUP, _TYPE, "successful-authentication-total"), tags)
        self.succeeded_for_good = metrics.counter(
            MetricName(_GROUP, _TYPE, "successful-authentication-no-reauth-total"), tags
        )
        self.failed = metrics.counter(MetricName(_GROUP, _TYPE, "failed-authentication-total"), tags)
        self.again_succeeded = metrics.counter(MetricName(_GROUP, _TYPE, "successful-reauthentication-total"), tags)
        self.again_failed = metrics.counter(MetricName(_GROUP, _TYPE, "failed-reauthentication-total"), tags)
        self.again_latency = metrics.histogram(_REAUTHENTICATION_TIME, {"listener": listener})
        self.expired = metrics.counter(MetricName(_GROUP, _TYPE, "expired-connections-killed-count"), tags)
