"""The metrics page's text is valid for Prometheus, with the names of the usual rules for Kafka."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from signalbox.broker.metrics.metric_registry import Kind, MetricRegistry
from signalbox.common.metrics import MetricName
from signalbox.server.metrics.metrics_text import prometheus_names, prometheus_type, render, render_process

NAME = MetricName("kafka.network", "RequestMetrics", "RequestsPerSec")


def parsed(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_what_prometheus_reads() -> None:
    registry = MetricRegistry()
    registry.counter(NAME, {"request": 'a "quoted"\nname\\', "error-code": "1"}).add(3)
    registry.gauge(MetricName("signalbox.audit", "AuditTrail", "num-messages"), lambda: 2.5)
    registry.histogram(MetricName("kafka.server", "Forwarding", "QueueTimeMs"), {"broker": "1"}).record(4)
    text = b"".join(render(registry)).decode()
    found = parsed(text)
    key = ("kafka_network_requestmetrics_requests_total", (("error_code", "1"), ("request", 'a "quoted"\nname\\')))
    assert found[key] == 3
    assert found["signalbox_audit_audittrail_num_messages", ()] == 2.5
    assert found["kafka_server_forwarding_queuetimems", (("broker", "1"), ("quantile", "0.99"))] == 4
    assert found["kafka_server_forwarding_queuetimems_count", (("broker", "1"),)] == 1
    assert found["kafka_server_forwarding_queuetimems_sum", (("broker", "1"),)] == 4
    assert "# TYPE kafka_server_forwarding_queuetimems summary\n" in text
    assert "# TYPE kafka_network_requestmetrics_requests_total counter\n" in text


def test_the_process_is_on_the_page() -> None:
    found = parsed(render_process().decode())
    assert found["process_resident_memory_bytes", ()] > 1_000_000
    assert found["process_cpu_seconds_total", ()] > 0
    assert 0 < found["process_open_fds", ()] < found["process_max_fds", ()]
    assert found["process_start_time_seconds", ()] > 1_000_000_000


@pytest.mark.parametrize(
    ("mbean", "kind", "names"),
    [
        (
            "kafka.server:BrokerTopicMetrics:BytesInPerSec",
            Kind.COUNTER,
            ["kafka_server_brokertopicmetrics_bytesin_total"],
        ),
        (
            "kafka.server:ReplicaManager:UnderReplicatedPartitions",
            Kind.GAUGE,
            ["kafka_server_replicamanager_underreplicatedpartitions"],
        ),
        (
            "kafka.server:socket-server-metrics:failed-authentication-total",
            Kind.COUNTER,
            ["kafka_server_socket_server_metrics_failed_authentication_total"],
        ),
        (
            "kafka.network:SocketServer:ExpiredConnectionsKilledCount",
            Kind.COUNTER,
            ["kafka_network_socketserver_expiredconnectionskilledcount"],
        ),
        (
            "kafka.network:SocketServer:NetworkProcessorAvgIdlePercent",
            Kind.GAUGE,
            [
                "kafka_network_socketserver_networkprocessoravgidlepercent",
                "kafka_network_socketserver_networkprocessoravgidle_percent",
            ],
        ),
        (
            "signalbox.network:SocketServer:Rejections",
            Kind.COUNTER,
            ["signalbox_network_socketserver_rejections_total"],
        ),
    ],
)
def test_names_follow_the_rules_of_the_jmx_exporter(mbean: str, kind: Kind, names: list[str]) -> None:
    assert list(prometheus_names(MetricName(*mbean.split(":")), kind)) == names


def test_every_counter_on_the_page_ends_in_total() -> None:
    total, count = MetricName("a", "b", "failed-total"), MetricName("a", "b", "KilledCount")
    assert (prometheus_type(total, Kind.COUNTER), prometheus_names(total, Kind.COUNTER)) == (
        Kind.COUNTER,
        ("a_b_failed_total",),
    )
    assert (prometheus_type(count, Kind.COUNTER), prometheus_names(count, Kind.COUNTER)) == (
        Kind.GAUGE,
        ("a_b_killedcount",),
    )
