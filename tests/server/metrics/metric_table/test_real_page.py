"""The table lists exactly the metrics of real brokers' pages."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from signalbox.server.metrics.metric_table import METRIC_ROWS
from signalbox.server.metrics.metric_table.row import PROCESS_ROWS
from signalbox.testing.cluster import Cluster
from tests.wiring.test_controller_node import controller_in, until_active

TOPIC = "measured"
_NOT_HERE = (
    "the node has a listener of controllers",
    "`signalbox.data.plane.measure.polls` is on",
    "one failed",
    "the addresses were checked",
)
_AFTER_EVENTS = ("something was rejected", "a connection was misrouted", "a probe came", "a request was forwarded")


@pytest.fixture(scope="module")
def pages(cluster: Cluster) -> list[str]:
    """The pages of three brokers that have served a client."""
    bootstrap = ",".join(str(node.describe()["listeners"]["CLIENT"]) for node in cluster.nodes.values())
    client: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap, "log_level": 2}
    admin = AdminClient(client)
    admin.create_topics([NewTopic(TOPIC, 3, 3)], operation_timeout=20)[TOPIC].result(30)
    producer = Producer(client)
    for number in range(30):
        producer.produce(TOPIC, b"x" * 100, partition=number % 3)
    assert producer.flush(30) == 0
    consumer = Consumer({**client, "group.id": "measuring", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    assert len(consumer.consume(30, timeout=30)) == 30
    read = [
        urllib.request.urlopen(str(node.describe()["metrics"]), timeout=10).read().decode()
        for node in cluster.nodes.values()
    ]
    consumer.close()
    return read


def families(page: str) -> dict[str, str]:
    """Metric name to type."""
    return dict(line.split()[2:4] for line in page.splitlines() if line.startswith("# TYPE "))


def samples(pages: list[str]) -> Iterator[tuple[str, frozenset[str], float]]:
    """(name, names of the labels, value)."""
    for page in pages:
        for line in page.splitlines():
            if not line.startswith("#"):
                sample, _, value = line.rpartition(" ")
                name, _, labels = sample.partition("{")
                yield name, frozenset(label.split("=")[0] for label in labels.split('",') if "=" in label), float(value)


def test_the_table_has_what_the_pages_have_with_its_type(pages: list[str]) -> None:
    table = {name: str(row.type) for row in METRIC_ROWS for name in row.names}
    table |= {row.name: str(row.type) for row in PROCESS_ROWS}
    for page in pages:
        assert {name: type_ for name, type_ in families(page).items() if table.get(name) != type_} == {}


def test_the_pages_have_what_the_table_has(pages: list[str]) -> None:
    together = {name for page in pages for name in families(page)}
    expected = {name for row in METRIC_ROWS if row.when not in _NOT_HERE + _AFTER_EVENTS for name in row.names}
    assert expected - together == set()
    always = {name for row in METRIC_ROWS if not row.when for name in row.names} | {row.name for row in PROCESS_ROWS}
    for page in pages:
        assert always - families(page).keys() == set()


def test_labels_are_those_of_the_table(pages: list[str]) -> None:
    assert wrong_labels(pages) == {}


def wrong_labels(pages: list[str]) -> dict[str, set[str]]:
    labels: dict[str, set[str]] = {}
    for name, found, _ in samples(pages):
        labels.setdefault(name.removesuffix("_count").removesuffix("_sum"), set()).update(found - {"quantile"})
        labels.setdefault(name, set()).update(found - {"quantile"})
    rows = {name: set(row.labels) for row in METRIC_ROWS for name in row.names}
    return {name: labels[name] for name in rows.keys() & labels.keys() if labels[name] != rows[name]}


def test_the_topic_counts_what_the_client_did(pages: list[str]) -> None:
    counted = dict.fromkeys(("messagesin", "bytesin", "bytesout", "failedproducerequests"), 0.0)
    for page in pages:
        for line in page.splitlines():
            for name in counted:
                if line.startswith(f'kafka_server_brokertopicmetrics_{name}_total{{topic="{TOPIC}"}}'):
                    counted[name] += float(line.rpartition(" ")[2])
    assert (counted["messagesin"], counted["failedproducerequests"]) == (30, 0)
    assert counted["bytesin"] > 3_000
    assert counted["bytesout"] >= counted["bytesin"]


@pytest.mark.spec("F15")
def test_a_dedicated_controller_has_nothing_that_the_table_lacks(tmp_path: Path) -> None:
    async def scenario() -> str:
        node = controller_in(tmp_path, signalbox__metrics__http__port="0")
        await node.start()
        await until_active(node)
        address = str(node.describe()["metrics"]).removeprefix("http://").removesuffix("/metrics")
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
        answer = await reader.read()
        writer.close()
        await node.stop()
        return answer.partition(b"\r\n\r\n")[2].decode()

    page = asyncio.run(scenario())
    table = {name: str(row.type) for row in METRIC_ROWS for name in row.names}
    table |= {row.name: str(row.type) for row in PROCESS_ROWS}
    found = families(page)
    assert {name: type_ for name, type_ in found.items() if table.get(name) != type_} == {}
    assert wrong_labels([page]) == {}
    of_its_listener = {name for row in METRIC_ROWS if row.when == _NOT_HERE[0] for name in row.names}
    assert of_its_listener <= found.keys()
    assert "kafka_controller_kafkacontroller_activecontrollercount 1.0" in page.splitlines()
