"""Forwarded requests are counted by client id, with a limit on the number of client ids (F16)."""

from __future__ import annotations

import pytest

from signalbox.broker.forwarding.forwarding_metrics import WINDOW_S, EventRate, ForwardingMetrics
from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.common.clock import ManualClock
from signalbox.common.limits import MAX_CLIENT_IDS_COUNTED
from signalbox.protocol.error_table import Error

pytestmark = pytest.mark.spec("F16")


def measured(registry: MetricRegistry, clock: ManualClock | None = None) -> ForwardingMetrics:
    return ForwardingMetrics(registry, clock or ManualClock(), lambda: 3)


def values(registry: MetricRegistry) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {(sample.name.name, sample.tags): sample.value for sample in registry.samples()}


def test_in_flight_in_total_and_by_client() -> None:
    registry = MetricRegistry()
    metrics = measured(registry)
    metrics.started("a")
    metrics.started("a")
    metrics.started(None)
    metrics.ended("a")
    found = values(registry)
    assert found["ActiveControllerId", ()] == 3
    assert found["RequestsForwardingInFlight", ()] == 2
    assert found["num-messages-redirected-count", ()] == 3
    assert found["num-client-forwarding-to-controller-count", ()] == 2, "one of a, one without a name"
    assert found["NumRequestsForwardingToControllerPerSec", (("clientId", "a"),)] == 2
    assert found["NumRequestsForwardingToControllerPerSec", (("clientId", ""),)] == 1
    metrics.ended("a")
    metrics.ended(None)
    assert values(registry)["num-client-forwarding-to-controller-count", ()] == 0


def test_rates_are_of_the_last_half_minute() -> None:
    registry, clock = MetricRegistry(), ManualClock()
    metrics = measured(registry, clock)
    for _ in range(30):
        metrics.started("a")
    for _ in range(30):
        metrics.ended("a")
    found = values(registry)
    assert found["num-messages-redirected-rate", ()] == pytest.approx(1)
    assert found["num-client-forwarding-to-controller-rate", ()] == pytest.approx(1 / 30), "it began to wait once"
    clock.advance(31_000)
    found = values(registry)
    assert found["num-messages-redirected-rate", ()] == 0
    assert found["num-messages-redirected-count", ()] == 30


def test_names_are_those_of_the_kip() -> None:
    registry = MetricRegistry()
    metrics = measured(registry)
    metrics.started("a")
    meters = {tuple(sample.name) for sample in registry.samples() if sample.name.type == "RequestMetrics"}
    assert meters == {("kafka.server", "RequestMetrics", "NumRequestsForwardingToControllerPerSec")}


def test_failures_by_error() -> None:
    registry = MetricRegistry()
    metrics = measured(registry)
    metrics.failed(Error.CLUSTER_AUTHORIZATION_FAILED)
    metrics.failed(Error.REQUEST_TIMED_OUT)
    found = values(registry)
    assert found["request-forwarding-to-controller-authorization-fail-count", ()] == 1
    assert found["ForwardingFailures", (("error", "REQUEST_TIMED_OUT"),)] == 1


def test_invented_client_ids_share_a_row_past_the_cap() -> None:
    registry = MetricRegistry()
    metrics = measured(registry)
    for number in range(MAX_CLIENT_IDS_COUNTED + 50):
        metrics.started(f"client-{number}")
    rows = {tags: value for (name, tags), value in values(registry).items() if name.endswith("PerSec")}
    assert len(rows) == MAX_CLIENT_IDS_COUNTED + 1
    assert rows[("clientId", "other"),] == 50


def test_events_count_for_half_a_minute() -> None:
    clock = ManualClock()
    rate = EventRate(clock)
    assert rate.per_second() == 0
    for _ in range(60):
        rate.add()
    assert rate.per_second() == pytest.approx(2)
    clock.advance(WINDOW_S * 500)
    for _ in range(30):
        rate.add()
    assert rate.per_second() == pytest.approx(3)
    clock.advance(WINDOW_S * 500 + 1_000)
    assert rate.per_second() == pytest.approx(1)
    clock.advance(WINDOW_S * 1_000)
    assert rate.per_second() == 0
