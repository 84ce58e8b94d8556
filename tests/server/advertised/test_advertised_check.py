"""Brokers that check their advertised addresses, and a switchboard that changes where these lead (R9)."""

from __future__ import annotations

import asyncio
import logging
import urllib.request
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from signalbox.broker.metrics.metric_registry import MetricRegistry
from signalbox.client.connection.node import Identity
from signalbox.common.config.config_table import Value
from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.common.ids import Grade
from signalbox.doctor.observations import AddressObservation, ConnectionObservation
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.image import BrokerImage, MetadataImage
from signalbox.server.advertised.address_probes import AdvertisedAddress
from signalbox.server.advertised.address_reports import AddressReports
from signalbox.server.advertised.advertised_check import AdvertisedCheck
from signalbox.testing.switchboard_thread import SwitchboardThread
from tests.broker.handler_requests import RecordingAuditSink
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
    every_address = {(of, name) for of in (1, 2, 3) for name in ("CLIENT", "REPLICATION")}
    until(lambda: set(cluster.states(1)) == every_address, "every listener of clients and brokers is probed, no other")

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
    # The address that a broker probes first has another node behind it; with the second one it is a crossing.
    found = (f"(listener=CLIENT, broker=1, address={address}, code={code})" for code in ("WRONG_NODE", "CROSSED"))
    assert any(row in line for row in found for line in lines)
    assert any("code=CROSSED" in line and "set advertised.listeners to" in line for line in lines)

    cluster.board.restore()
    for node_id in (1, 2):
        cluster.wait_for(node_id, of=node_id, state="verified")
        assert cluster.page(node_id, "ready")[0] == 200
    cluster.wait_for(3, of=1, state="verified")
    assert metric(cluster, 1, 1) == 0


def test_a_change_of_an_advertised_address_is_checked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long before the interval ends: the broker was started again with another address, which leads to its peer."""
    monkeypatch.setattr("signalbox.server.advertised.advertised_check._LOOK_S", 3_600.0)  # the metadata alone says it
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


class HeldProber:
    """A prober whose probes end when the test ends them: each is its addresses, and the promise of what is seen."""

    def __init__(self) -> None:
        self.identity = Identity("C", 1)
        self.probes: asyncio.Queue[tuple[list[AdvertisedAddress], asyncio.Future[bool]]] = asyncio.Queue()

    async def observe(
        self, due: Sequence[AdvertisedAddress], known: Sequence[AdvertisedAddress]
    ) -> dict[AdvertisedAddress, AddressObservation]:
        end: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.probes.put_nowait((list(due), end))
        answers = await end
        return {row: self._observation(row, answers) for row in due}

    def _observation(self, row: AdvertisedAddress, answers: bool) -> AddressObservation:
        connection = ConnectionObservation(ip="::1", stage="ready", grade=Grade.VERIFIED, node_id=row.node_id)
        return AddressObservation(
            host=row.endpoint.host, port=9092, node_id=row.node_id, connections=(connection,) if answers else ()
        )

    async def next(self) -> tuple[list[int], asyncio.Future[bool]]:
        """The nodes of the next probe, and how to end it."""
        async with asyncio.timeout(60):
            rows, end = await self.probes.get()
        return [row.node_id for row in rows], end


@asynccontextmanager
async def held_check(cache: MetadataCache) -> AsyncIterator[tuple[AdvertisedCheck, HeldProber]]:
    prober: Any = HeldProber()
    values: dict[str, Value] = {"signalbox.advertised.check": "refuse", "signalbox.advertised.check.interval.ms": 10**9}
    reports = AddressReports(prober.identity, MetricRegistry(), RecordingAuditSink())
    check = AdvertisedCheck(cache, prober, reports, lambda: values, None)
    check.start()
    yield check, prober
    await check.stop()


def brokers(*node_ids: int) -> MetadataImage:
    endpoints = {one: {"A": Endpoint("A", f"host{one}", 9092, SecurityProtocol.PLAINTEXT)} for one in node_ids}
    return MetadataImage({one: BrokerImage(one, None, endpoints[one]) for one in node_ids}, {}, {})


def test_own_addresses_are_probed_first_and_again_while_peers_are_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signalbox.server.advertised.probe_schedule.FIRST_RETRY_S", 0.01)

    async def scenario() -> None:
        cache = MetadataCache()
        cache._take(brokers(1, 2, 3), set())
        async with held_check(cache) as (check, prober):
            nodes, end = await prober.next()
            assert (nodes, prober.probes.qsize()) == ([1], 0)
            assert check.not_ready_reasons() == ["the advertised addresses are not checked yet"]
            end.set_result(False)
            own, peers = sorted([(await prober.next())[0], (await prober.next())[0]])
            assert own == [1]
            assert {2, 3}.issuperset(peers), "at a time of its own each"
            assert check.not_ready_reasons() == []

    asyncio.run(scenario())


def test_a_peer_that_left_while_it_was_probed_is_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def scenario() -> None:
        cache = MetadataCache()
        cache._take(brokers(1, 2), set())
        async with held_check(cache) as (check, prober):
            (await prober.next())[1].set_result(True)
            nodes, end = await prober.next()
            assert nodes == [2]
            cache._take(brokers(1, 3), set())
            end.set_result(False)
            nodes, _ = await prober.next()
            assert nodes == [3]
            assert [row.node_id for row in check.states] == [1]

    asyncio.run(scenario())
    assert not [text for text in caplog.messages if "Advertised address" in text]
