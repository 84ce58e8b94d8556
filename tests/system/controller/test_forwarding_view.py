"""`signalbox forwarding` on a real cluster: which broker forwards to which controller, for which client, what is
pending, what failed (F16)."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from confluent_kafka import libversion
from confluent_kafka.admin import AdminClient
from tools.chaos.state_reader import state_in_file
from typer.testing import CliRunner

from signalbox.cli.main import app
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import QUICK
from tests.system.wire import Wire
from tests.waiting import until

pytestmark = [pytest.mark.timeout(120), pytest.mark.spec("F16")]
_TIMEOUT_MS = 2_000


def view(cluster: ProcessCluster, *brokers: int) -> dict[str, list[dict[str, str]]]:
    """The tables of `signalbox forwarding --once`, rows by column."""
    pages = [str(cluster.brokers[node_id].ready["metrics"]) for node_id in brokers]
    done = CliRunner().invoke(app, ["forwarding", *pages, "--once"])
    assert done.exit_code == 0, done.stderr
    tables: dict[str, list[list[str]]] = {}
    for line in done.stdout.splitlines():
        kind, *cells = line.split("\t")
        tables.setdefault(kind, []).append(cells)
    return {kind: [dict(zip(head, row, strict=True)) for row in rows] for kind, (head, *rows) in tables.items()}


def create(wire: Wire, name: str) -> Error:
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS)
    answer: CreateTopicsResponse = wire.ask(ApiKey.CREATE_TOPICS, 7, request)
    return Error.of(answer.topics[0].error_code)


def test_forwarded_waiting_and_failed_requests(tmp_path: Path) -> None:
    overrides = {**QUICK, "signalbox.audit.enable": "false", "request.timeout.ms": str(_TIMEOUT_MS)}
    with ProcessCluster(tmp_path, 3, overrides=overrides) as cluster, state_in_file(tmp_path / "metadata.db") as state:
        controller = until(lambda: max(state.controller_id(), 0), "a controller")
        forwarder = next(node_id for node_id in cluster.brokers if node_id != controller)
        with Wire(cluster.brokers[forwarder].address("CLIENT"), "old-hand") as wire:
            assert {create(wire, f"made-{number}") for number in range(3)} == {Error.NONE}
            librdkafka = AdminClient({"bootstrap.servers": cluster.bootstrap()})
            assert librdkafka.list_topics(timeout=10).topics

            seen = view(cluster, *cluster.brokers)
            assert {row["controller"] for row in seen["broker"]} == {str(controller)}
            redirected = {row["broker"]: row["redirected"] for row in seen["broker"]}
            assert redirected[str(cluster.brokers[forwarder].ready["metrics"])] == "3"
            assert redirected[str(cluster.brokers[controller].ready["metrics"])] == "0", "it forwards nothing"
            [client] = [row for row in seen["client"] if row["client id"] == "old-hand"]
            assert client["forwarded"] == "3"
            by_name = {row["software"]: row["version"] for row in seen["software"] if row["listener"] == "CLIENT"}
            assert libversion()[0] in by_name["confluent-kafka-python"]
            assert by_name["unknown"] == "unknown", "the wire sends no client software name"

            cluster.pause(controller)
            errors: list[Error] = []
            asking = threading.Thread(target=lambda: errors.append(create(wire, "late")))
            asking.start()
            until(lambda: view(cluster, forwarder)["broker"][0]["in flight"] == "1", "a request in flight")
            assert view(cluster, forwarder)["broker"][0]["clients waiting"] == "1"
            asking.join()
            cluster.resume(controller)
            assert errors == [Error.REQUEST_TIMED_OUT]
            seen = view(cluster, forwarder)
            assert seen["broker"][0]["in flight"] == "0"
            assert [(row["error"], row["requests"]) for row in seen["failure"]] == [("REQUEST_TIMED_OUT", "1")]
