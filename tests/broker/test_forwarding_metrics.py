"""Forwarding is counted by client id, of which there are only so many (F16)."""

from __future__ import annotations

from signalbox.broker.forwarding_metrics import ForwardingMetrics
from signalbox.broker.metric_registry import MetricRegistry
from signalbox.common.limits import MAX_CLIENT_IDS_COUNTED
from signalbox.protocol.error_table import Error


def values(registry: MetricRegistry) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {(sample.name.name, sample.tags): sample.value for sample in registry.samples()}


def test_in_flight_in_total_and_by_client() -> None:
    registry = MetricRegistry()
    metrics = ForwardingMetrics(registry)
    metrics.started("a")
    metrics.started("a")
    metrics.started(None)
    metrics.ended()
    found = values(registry)
    assert found["RequestsForwardingInFlight", ()] == 2
    assert found["num-messages-redirected-count", ()] == 3
    assert found["NumRequestsForwardingToControllerPerSec", (("clientId", "a"),)] == 2
    assert found["NumRequestsForwardingToControllerPerSec", (("clientId", ""),)] == 1


def test_failures_by_error() -> None:
    registry = MetricRegistry()
    metrics = ForwardingMetrics(registry)
    metrics.failed(Error.CLUSTER_AUTHORIZATION_FAILED)
    metrics.failed(Error.REQUEST_TIMED_OUT)
    found = values(registry)
    assert found["request-forwarding-to-controller-authorization-fail-count", ()] == 1
    assert found["ForwardingFailuresPerSec", (("error", "REQUEST_TIMED_OUT"),)] == 1


def test_invented_client_ids_share_a_row_past_the_cap() -> None:
    registry = MetricRegistry()
    metrics = ForwardingMetrics(registry)
    for number in range(MAX_CLIENT_IDS_COUNTED + 50):
        metrics.started(f"client-{number}")
    rows = {tags: value for (name, tags), value in values(registry).items() if name.endswith("PerSec")}
    assert len(rows) == MAX_CLIENT_IDS_COUNTED + 1
    assert rows[("clientId", "other"),] == 50
