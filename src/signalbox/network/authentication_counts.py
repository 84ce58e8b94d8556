"""How often peers proved who they are on a listener, or failed to: the totals of Kafka's socket-server-metrics.

As in Kafka a TLS handshake counts like a SASL login, and PLAINTEXT, which proves nothing, does not count. A peer that
leaves in the middle is none of both; one that is closed for not finishing in time has failed.
"""

from __future__ import annotations

from signalbox.common.metrics import MetricName, Metrics

_GROUP, _TYPE = "kafka.server", "socket-server-metrics"


class AuthenticationCounts:
    """Of one listener. `again_...` are re-authentications (KIP-368), whose latency runs from the SaslHandshake to the
    last answer; `succeeded_for_good` are clients too old to be told when their session ends, `expired` connections
    that were closed because it had."""

    __slots__ = (
        "again_failed", "again_latency", "again_succeeded", "expired", "failed", "succeeded", "succeeded_for_good",
    )  # fmt: skip

    def __init__(self, metrics: Metrics, listener: str) -> None:
        tags = {"listener": listener}
        self.succeeded = metrics.counter(MetricName(_GROUP, _TYPE, "successful-authentication-total"), tags)
        self.succeeded_for_good = metrics.counter(
            MetricName(_GROUP, _TYPE, "successful-authentication-no-reauth-total"), tags
        )
        self.failed = metrics.counter(MetricName(_GROUP, _TYPE, "failed-authentication-total"), tags)
        self.again_succeeded = metrics.counter(MetricName(_GROUP, _TYPE, "successful-reauthentication-total"), tags)
        self.again_failed = metrics.counter(MetricName(_GROUP, _TYPE, "failed-reauthentication-total"), tags)
        self.again_latency = metrics.histogram(MetricName(_GROUP, _TYPE, "reauthentication-latency"), tags)
        self.expired = metrics.counter(MetricName(_GROUP, _TYPE, "expired-connections-killed-count"), tags)
