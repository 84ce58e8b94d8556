from __future__ import annotations

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.network.sasl.authentication_counts import AuthenticationCounts
from tests.metric_values import metric_values


def test_kafkas_names_for_each_listener() -> None:
    registry = MetricRegistry()
    AuthenticationCounts(registry, "CLIENT").failed.add()
    counts = AuthenticationCounts(registry, "OTHER")
    for counter in (counts.succeeded, counts.succeeded_without_reauthentication, counts.expired):
        counter.add()
    counts.reauthentication_latency.record(7)
    values = metric_values(registry)
    assert values["failed-authentication-total", "CLIENT", "0"] == 1
    assert values["successful-authentication-total", "OTHER", "0"] == 1
    assert values["successful-authentication-no-reauth-total", "OTHER", "0"] == 1
    assert values["expired-connections-killed-count", "OTHER", "0"] == 1
    assert values["failed-reauthentication-total", "OTHER", "0"] == 0
    assert values["successful-reauthentication-total", "OTHER", "0"] == 0
    assert values["ReauthenticationTimeMs_sum", "OTHER"] == 7
