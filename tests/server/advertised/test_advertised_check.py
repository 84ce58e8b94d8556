"""Brokers that check their advertised addresses, and a switchboard that changes where these lead (R9)."""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import Iterator

import pytest

from signalbox.testing.switchboard_thread import SwitchboardThread
from tests.server.advertised.lined_cluster import LinedCluster
from tests.waiting import until

pytestmark = pytest.mark.spec("R9")

_STATE = "signalbox_server_advertisedaddresses_state"


WITHHOLDS_READINESS = {"signalbox.advertised.check": "refuse"}


def metric(cluster: LinedCluster, node_id: int, of: int) -> float:
    with urllib.request.urlopen(str(cluster.nodes[node_id].describe()["metrics"]), timeout=30) as page:
        text = page.read().decode()
    sample = f'{_STATE}{{broker_id="{of}",listener="CLIENT"}} '
    (line,) = [line for line in text.splitlines() if line.startswith(sample)]
    return float(line.removeprefix(sample))


@pytest.fixture
def cluster() -> Iterator[LinedCluster]:
    with SwitchboardThread() as board, LinedCluster(board, 3, WITHHOLDS_READINESS) as running:
        yield running


def test_a_swap_is_found_and_so_is_its_end(cluster: LinedCluster, caplog: pytest.LogCaptureFixture) -> None:
    for node_id in (1, 2, 3):
        for of in (1, 2, 3):
            cluster.wait_for(node_id, of=of, state="verified")
        assert cluster.page(node_id, "ready") == (200, "ready\n")
    assert set(cluster.states(1)) == {(of, name) for of in (1, 2, 3) for name in ("CLIENT", "REPLICATION")}

    cluster.board.swap("1", "2")
    cluster.wait_for(1, of=1, state="wrong")
    cluster.wait_for(2, of=2, state="wrong")
    cluster.wait_for(3, of=1, state="wrong")
    until(lambda: "CROSSED" in cluster.page(1, "ready")[1], "broker 1 has probed broker 2 as well")
    status, text = cluster.page(1, "ready")
    address = ":".join(map(str, cluster.board.line("1").address))
    assert status == 503
    assert text.startswith(f"the advertised address {address} of listener CLIENT leads to another node (CROSSED): ")
    assert "node 2 responds for node 1" in text
    assert cluster.page(3, "ready")[0] == 200  # its own addresses lead to it
    assert [metric(cluster, 1, of) for of in (1, 2, 3)] == [2, 2, 0]
    health = cluster.health(1)
    assert (health["ready"], health["phase"], health["node_id"]) == (False, "running", 1)
    own = health["advertised_addresses"][0]
    assert (own["node_id"], own["code"], own["key"]) == (1, "CROSSED", "advertised.listeners")
    assert own["actual"] == f"{health['cluster_id']}/2"
    lines = [row.getMessage() for row in caplog.records if row.levelno == logging.WARNING]
    lines = [line for line in lines if line.startswith("Advertised address leads to another node")]
    assert any(f"(listener=CLIENT, broker=1, address={address}, code=CROSSED)" in line for line in lines)
    assert any("set advertised.listeners to" in line for line in lines)

    cluster.board.restore()
    for node_id in (1, 2):
        cluster.wait_for(node_id, of=node_id, state="verified")
        assert cluster.page(node_id, "ready")[0] == 200
    cluster.wait_for(3, of=1, state="verified")
    assert metric(cluster, 1, 1) == 0


def test_a_change_of_an_advertised_address_is_checked_at_once() -> None:
    """Long before the interval ends: the broker was started again with another address, which leads to its peer."""
    overrides = {"signalbox.advertised.check.interval.ms": "3600000"}
    with SwitchboardThread() as board, LinedCluster(board, 2, {**WITHHOLDS_READINESS, **overrides}) as cluster:
        cluster.wait_for(1, of=2, state="verified")
        board.add_line("moved", board.line("1").targets[0])
        cluster.advertise(2, board.line("moved").address)
        cluster.stop_broker(2)
        cluster.start_broker(2)
        cluster.wait_for(1, of=2, state="wrong")
        cluster.wait_for(2, of=2, state="wrong")
        assert cluster.page(2, "ready")[0] == 503


def test_an_address_that_cannot_be_reached_yet_does_not_matter() -> None:
    """A load balancer that forwards only to nodes that are ready: the node must become ready first."""
    with SwitchboardThread() as board:
        cluster = LinedCluster(board, 1, WITHHOLDS_READINESS)
        board.refuse_connections("1")
        with cluster:
            cluster.wait_for(1, of=1, state="unverified")
            assert cluster.page(1, "ready") == (200, "ready\n")
            assert cluster.states(1)[1, "REPLICATION"] == "verified"
            board.restore()
            cluster.wait_for(1, of=1, state="verified")


def test_a_broker_is_not_ready_before_the_first_check_has_ended() -> None:
    with SwitchboardThread() as board:
        cluster = LinedCluster(board, 1, WITHHOLDS_READINESS)
        board.blackhole("1")
        with cluster:
            assert cluster.page(1, "ready") == (503, "the advertised addresses are not checked yet\n")
            board.restore()
            until(lambda: cluster.page(1, "ready")[0] == 200, "it is ready")


def test_with_warn_an_address_that_several_nodes_share_is_reported_and_the_broker_is_ready() -> None:
    with SwitchboardThread() as board, LinedCluster(board, 2, {"signalbox.advertised.check": "warn"}) as cluster:
        board.rewire("1", *(board.line(name).targets[0] for name in ("1", "2")))
        cluster.wait_for(1, of=1, state="wrong")
        own = cluster.health(1)["advertised_addresses"][0]
        assert (own["node_id"], own["listener"]) == (1, "CLIENT")
        assert cluster.page(1, "ready") == (200, "ready\n")


def test_off_opens_no_connection() -> None:
    with SwitchboardThread() as board, LinedCluster(board, 1, {"signalbox.advertised.check": "off"}) as cluster:
        assert cluster.page(1, "ready") == (200, "ready\n")
        assert cluster.health(1)["advertised_addresses"] == []
        assert board.line("1").accepted == 0


def test_another_cluster_at_the_address_is_named() -> None:
    with (
        SwitchboardThread() as board,
        SwitchboardThread() as other_board,
        LinedCluster(board, 1, WITHHOLDS_READINESS) as cluster,
        LinedCluster(other_board, 1, {}) as other,
    ):
        cluster.wait_for(1, of=1, state="verified")
        board.rewire("1", other_board.line("1").address)
        until(lambda: cluster.page(1, "ready")[0] == 503, "it is not ready")
        assert f"node 1 of cluster {other.health(1)['cluster_id']} responds" in cluster.page(1, "ready")[1]
