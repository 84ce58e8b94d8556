"""Successful and failed authentications on a listener: the totals of Kafka's socket-server-metrics.

As in Kafka a TLS handshake counts like a SASL login, and PLAINTEXT, which does not authenticate, does not count. A peer
that disconnects during its login counts as neither; one that is closed because of the timeout counts as failed.
"""

from __future__ import annotations

from signalbox.common.metrics import MetricName, Metrics

_GROUP, _TYPE = "kafka.server", "socket-server-metrics"
_REAUTHENTICATION_TIME = MetricName("signalbox.network", "SocketServer", "ReauthenticationTimeMs")


class AuthenticationCounts:
    """Counters of one listener. The latency of re-authentications (KIP-368) runs from the SaslHandshake to the last
    response; `succeeded_without_reauthentication` are logins of clients too old for re-authentication, `expired` are
    connections that were closed because their session had expired."""

    __slots__ = (
        "expired",
        "failed",
        "reauthentication_failed",
        "reauthentication_latency",
        "reauthentication_succeeded",
        "succeeded",
        "succeeded_without_reauthentication",
    )  # fmt: skip

    def __init__(self, metrics: Metrics, listener: str) -> None:
        tags = {"listener": listener, "networkProcessor": "0"}
        self.succeeded = metrics.counter(MetricName(_GROUP, _TYPE, "successful-authentication-total"), tags)
        self.succeeded_without_reauthentication = metrics.counter(
            MetricName(_GROUP, _TYPE, "successful-authentication-no-reauth-total"), tags
        )
        self.failed = metrics.counter(MetricName(_GROUP, _TYPE, "failed-authentication-total"), tags)
        self.reauthentication_succeeded = metrics.counter(
            MetricName(_GROUP, _TYPE, "successful-reauthentication-total"), tags
        )
        self.reauthentication_failed = metrics.counter(MetricName(_GROUP, _TYPE, "failed-reauthentication-total"), tags)
        self.reauthentication_latency = metrics.histogram(_REAUTHENTICATION_TIME, {"listener": listener})
        self.expired = metrics.counter(MetricName(_GROUP, _TYPE, "expired-connections-killed-count"), tags)
