"""The Prometheus page: valid text under Kafka's names, and nothing else behind the port."""

from __future__ import annotations

import asyncio
import socket
import urllib.request
from collections.abc import Callable

import pytest
from prometheus_client.parser import text_string_to_metric_families

from signalbox.broker.metric_registry import MetricRegistry
from signalbox.common.config_table import ConfigFault
from signalbox.common.metrics import MetricName
from signalbox.common.start_refused import StartRefused
from signalbox.testing.cluster import Cluster
from signalbox.wiring.metrics_page import MetricsPage, render

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
    registry.histogram(MetricName("kafka.server", "Forwarding", "QueueTimeMs")).record(4)
    found = parsed(render(registry).decode())
    key = (
        "kafka_network_requestmetrics_requestspersec_total",
        (("error_code", "1"), ("request", 'a "quoted"\nname\\')),
    )
    assert found[key] == 3
    assert found["signalbox_audit_audittrail_num_messages", ()] == 2.5
    assert found["kafka_server_forwarding_queuetimems", (("quantile", "0.99"),)] == 4
    assert found["kafka_server_forwarding_queuetimems", (("stat", "count"),)] == 1


async def exchange(page: MetricsPage, request: bytes) -> bytes:
    port = await page.start()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        return answer
    finally:
        await page.stop()


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 200"),
        (b"GET /metrics?name[]=a HTTP/1.1\r\n\r\n", b"HTTP/1.1 200"),
        (b"GET / HTTP/1.0\r\n\r\n", b"HTTP/1.1 200"),
        (b"GET /etc/passwd HTTP/1.1\r\n\r\n", b"HTTP/1.1 404"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"HTTP/1.1 404"),
        (b"GET /metrics", b""),
        (b"GET \r\n\r\n", b"HTTP/1.1 404"),
        (b"\r\n\r\n", b"HTTP/1.1 404"),
        (b"GET /metrics HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", b""),
    ],
)
def test_requests(request_: bytes, status: bytes) -> None:
    answer = asyncio.run(exchange(MetricsPage(MetricRegistry(), "127.0.0.1", 0, AtOnce()), request_))
    assert answer.startswith(status)
    assert bool(answer) == bool(status)


class AtOnce:
    """A lane for pages that are never long."""

    def run(self, work: Callable[[], None], again: bool = False) -> None:
        work()


def refused_start(host: str, port: int) -> ConfigFault:
    page = MetricsPage(MetricRegistry(), host, port, AtOnce())
    with pytest.raises(StartRefused) as refused:
        asyncio.run(page.start())
    asyncio.run(page.stop())  # safe after it
    (fault,) = refused.value.faults
    return fault


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        fault = refused_start("127.0.0.1", port)
    assert (fault.key, fault.entry) == ("metrics.http.port", str(port))
    assert fault.problem == "cannot be bound on 127.0.0.1: Address already in use"


@pytest.mark.parametrize("host", ["192.0.2.1", "no such host", "a..b"])
def test_a_host_that_is_not_ours_is_named(host: str) -> None:
    fault = refused_start(host, 0)
    assert (fault.key, fault.entry) == ("metrics.http.host", host)
    assert fault.problem.startswith("cannot be bound with port 0: ")


def test_a_broker_that_serves(cluster: Cluster) -> None:
    url = str(cluster.nodes[1].describe()["metrics"])
    text = urllib.request.urlopen(url, timeout=5).read().decode()
    found = parsed(text)
    assert ("kafka_controller_kafkacontroller_activecontrollercount", ()) in found
    assert found["kafka_controller_kafkacontroller_offlinepartitionscount", ()] == 0
    assert text.count("# TYPE kafka_controller_kafkacontroller_activecontrollercount ") == 1


def test_one_of_three_is_the_active_controller_and_counts(cluster: Cluster) -> None:
    name = "kafka_controller_kafkacontroller_"
    pages = [
        parsed(urllib.request.urlopen(str(node.describe()["metrics"]), timeout=5).read().decode())
        for node in cluster.nodes.values()
    ]
    assert sorted(page[f"{name}activecontrollercount", ()] for page in pages) == [0, 0, 1]
    assert sorted(page[f"{name}activebrokercount", ()] for page in pages) == [0, 0, 3]
