from __future__ import annotations

from signalbox.broker.metric_registry import MetricRegistry
from signalbox.network.authentication_counts import AuthenticationCounts


def test_kafkas_names_for_each_listener() -> None:
    registry = MetricRegistry()
    AuthenticationCounts(registry, "CLIENT").failed.add()
    counts = AuthenticationCounts(registry, "OTHER")
    for counter in (counts.succeeded, counts.succeeded_for_good, counts.expired):
        counter.add()
    counts.again_latency.record(7)
    told = {(sample.name, *sample.tags): sample.value for sample in registry.samples()}
    group = ("kafka.server", "socket-server-metrics")
    assert told[(*group, "failed-authentication-total"), ("listener", "CLIENT")] == 1
    assert told[(*group, "successful-authentication-total"), ("listener", "OTHER")] == 1
    assert told[(*group, "successful-authentication-no-reauth-total"), ("listener", "OTHER")] == 1
    assert told[(*group, "expired-connections-killed-count"), ("listener", "OTHER")] == 1
    assert told[(*group, "failed-reauthentication-total"), ("listener", "OTHER")] == 0
    assert told[(*group, "successful-reauthentication-total"), ("listener", "OTHER")] == 0
    assert told[(*group, "reauthentication-latency"), ("listener", "OTHER"), ("stat", "sum")] == 7
