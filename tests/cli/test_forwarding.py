"""`signalbox forwarding`: what brokers' metrics pages show about forwarded requests (F16)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from signalbox.cli.forwarding import cells_of, forwarding_state
from signalbox.testing.cluster import Cluster
from tests.cli.ctrl_c import watched_until_ctrl_c

pytestmark = pytest.mark.spec("F16")

_PAGE = """# TYPE signalbox_network_listener_info gauge
signalbox_network_listener_info{listener="CLIENT",plane="data",forced="false"} 1.0
# TYPE signalbox_broker_forwardingmanager_activecontrollerid gauge
signalbox_broker_forwardingmanager_activecontrollerid %d
# TYPE kafka_server_forwardingmanager_num_messages_redirected_count gauge
kafka_server_forwardingmanager_num_messages_redirected_count %d
# TYPE kafka_server_requestmetrics_numrequestsforwardingtocontroller_total counter
kafka_server_requestmetrics_numrequestsforwardingtocontroller_total{clientId="admin"} %d
# TYPE signalbox_broker_forwardingmanager_forwardingfailures_total counter
signalbox_broker_forwardingmanager_forwardingfailures_total{error="REQUEST_TIMED_OUT"} 4.0
"""


def test_rates_are_of_the_time_between_two_looks() -> None:
    before, after = forwarding_state("b", _PAGE % (-1, 10, 6)), forwarding_state("b", _PAGE % (2, 30, 16))
    object.__setattr__(after, "taken_at", before.taken_at + 2.0)
    assert before.values(None) == ("b", None, 0, 0, 10, 0.0, 0, 4, 0)
    assert after.values(before) == ("b", 2, 0, 0, 30, 10.0, 0, 4, 0)
    assert list(before.client_values(None)) == [("b", "admin", 6, None)]
    assert list(after.client_values(before)) == [("b", "admin", 16, 5.0)]
    assert cells_of(before.values(None)) == ["b", "-", "0", "0", "10", "0.0", "0", "4", "0"]
    assert after.failures == {"REQUEST_TIMED_OUT": 4}


@pytest.fixture(scope="module")
def measured() -> Iterator[Cluster]:
    with Cluster(brokers=2, overrides={"signalbox.metrics.http.port": "0"}) as running:
        yield running


def pages_of(cluster: Cluster) -> list[str]:
    return [str(node.describe()["metrics"]).removeprefix("http://") for node in cluster.nodes.values()]


def test_once_is_four_tables_for_scripts(run: Any, measured: Cluster) -> None:
    pages = pages_of(measured)
    done = run("forwarding", *pages, "--once")
    assert done.exit_code == 0, done.stderr
    tables: dict[str, list[list[str]]] = {}
    for line in done.stdout.splitlines():
        kind, *cells = line.split("\t")
        tables.setdefault(kind, []).append(cells)
    assert list(tables) == ["broker", "client", "failure", "software"]
    head, *brokers = tables["broker"]
    assert head[:3] == ["broker", "controller", "in flight"]
    assert [row[0] for row in brokers] == pages
    assert len({row[1] for row in brokers}) == 1, "both take the same one for the controller"
    assert brokers[0][1] in {str(node_id) for node_id in measured.nodes}
    software = tables["software"][1:]
    assert any(row[0].startswith("signalbox") for row in software), "brokers are clients of each other"


def test_json_has_numbers(run: Any, measured: Cluster) -> None:
    tables = json.loads(run("forwarding", *pages_of(measured), "--json").stdout)
    assert {type(value) for row in tables["broker"] for name, value in row.items() if name != "broker"} == {int, float}
    assert all(type(row["connections"]) is int for row in tables["software"])


def test_the_live_view_ends_by_ctrl_c(measured: Cluster) -> None:
    assert watched_until_ctrl_c(["forwarding", *pages_of(measured), "--every", "0.1"], word="connections") == 0
