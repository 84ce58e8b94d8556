"""Probes of real listeners with TLS and SASL: with the broker's login where brokers log in, else without a user."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from signalbox.client.connection.node import Identity
from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.common.ids import Grade
from signalbox.doctor.observations import Examination
from signalbox.metadata.image import EMPTY_IMAGE, BrokerImage, MetadataImage
from signalbox.server.advertised.address_probes import (
    LIMITS,
    NODES_AT_ONCE,
    AdvertisedAddress,
    Prober,
    addresses_to_check,
    examination_of,
)
from signalbox.server.advertised.address_states import RouteState, states_of
from signalbox.testing.switchboard_thread import SwitchboardThread
from tests.metric_values import metric_values
from tests.server.advertised.secured_lines import CLIENT_LISTENERS, LISTENERS, SecuredLines

pytestmark = pytest.mark.spec("R9")

PROBED = [*CLIENT_LISTENERS, "REPLICATION"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredLines]:
    with SwitchboardThread() as board, SecuredLines(board, tmp_path_factory.mktemp("secured")) as running:
        yield running


@pytest.fixture(autouse=True)
def restored(cluster: SecuredLines) -> Iterator[None]:
    yield
    cluster.board.restore()


def observed(cluster: SecuredLines) -> Examination:
    """What broker 1 observes at its own addresses and those of broker 2."""
    context = cluster.nodes[1].components.context
    check = cluster.nodes[1].components.advertised_check
    prober: Prober = check._prober
    addresses = addresses_to_check(context.cache.image, 1, ("CONTROL",))
    return examination_of(cluster.run(prober.observe(addresses, addresses)), context.cluster_id, datetime.now(UTC))


def test_every_address_is_verified_without_a_word_in_the_logs(
    cluster: SecuredLines, caplog: pytest.LogCaptureFixture
) -> None:
    examination = observed(cluster)
    rows = {(row.node_id, listener.bootstrap): row for listener in examination.listeners for row in listener.addresses}
    assert set(rows) == {(node_id, name) for node_id in (1, 2) for name in PROBED}
    for (node_id, name), row in rows.items():
        assert [one.grade for one in row.connections] == [Grade.VERIFIED] * (3 if node_id == 1 else 1), name
        assert bool(row.certificates) == LISTENERS[name].endswith("SSL")
    assert {(one.state, one.code) for one in states_of(examination).values()} == {(RouteState.VERIFIED, "")}
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("listener", PROBED)
def test_a_swap_is_found_with_every_security_protocol(cluster: SecuredLines, listener: str) -> None:
    cluster.board.swap(f"{listener}1", f"{listener}2")
    states = states_of(observed(cluster))
    wrong = {key: (one.code, one.actual.rpartition("/")[2]) for key, one in states.items() if one.state}
    assert wrong == {(1, listener): ("CROSSED", "2"), (2, listener): ("CROSSED", "1")}


def test_a_probe_has_a_user_on_the_inter_broker_listener_only(cluster: SecuredLines) -> None:
    """Even where another listener would accept the login of brokers."""
    observed(cluster)
    values = metric_values(cluster.nodes[1].components.context.telemetry.metrics)
    logins = {
        name: values["successful-authentication-total", name, "0"] > 0 for name in ("SASL", "BOTH", "REPLICATION")
    }
    assert logins == {"SASL": False, "BOTH": False, "REPLICATION": True}
    assert [values["failed-authentication-total", name, "0"] for name in PROBED] == [0] * len(PROBED)


def image_of(*node_ids: int) -> MetadataImage:
    def endpoint(name: str, node_id: int) -> Endpoint:
        return Endpoint(name, f"host{node_id}", 9092, SecurityProtocol.PLAINTEXT)

    names = ("CLIENT", "CONTROL")
    return MetadataImage(
        {one: BrokerImage(one, None, {name: endpoint(name, one) for name in names}) for one in node_ids}, {}, {}
    )


def nodes(image: MetadataImage, node_id: int, max_peers: int = 32) -> list[int]:
    return [row.node_id for row in addresses_to_check(image, node_id, ("CONTROL",), max_peers)]


def test_its_own_addresses_come_first_then_those_of_the_next_peers() -> None:
    assert nodes(image_of(4, 2, 1, 3), 3) == [3, 4, 1, 2]
    assert nodes(image_of(4, 2, 1, 3), 3, max_peers=2) == [3, 4, 1]


def test_every_broker_is_checked_by_as_many_others() -> None:
    image = image_of(*range(10))
    checked = [other for node_id in range(10) for other in nodes(image, node_id, max_peers=3)[1:]]
    assert sorted(checked) == sorted([*range(10)] * 3)


def test_listeners_that_are_left_out_and_a_broker_that_the_metadata_does_not_have() -> None:
    rows = addresses_to_check(image_of(1), 1, ())
    assert [str(row.endpoint) for row in rows] == ["CLIENT://host1:9092", "CONTROL://host1:9092"]
    assert addresses_to_check(image_of(2), 1, ()) == addresses_to_check(EMPTY_IMAGE, 1, ()) == []


class SilentNodes:
    """Nodes that accept connections and say nothing; counts the open connections of each."""

    def __init__(self, count: int) -> None:
        self._open = dict.fromkeys(range(count), 0)
        self.most_of_a_node = self.most_together = 0
        self.reached: set[int] = set()

    async def listen(self, node_id: int) -> int:
        """The port of the node."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._open[node_id] += 1
            self.reached.add(node_id)
            self.most_of_a_node = max(self.most_of_a_node, self._open[node_id])
            self.most_together = max(self.most_together, sum(self._open.values()))
            await reader.read()
            self._open[node_id] -= 1
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port: int = server.sockets[0].getsockname()[1]
        return port


def test_a_few_nodes_at_a_time_and_a_few_connections_to_each() -> None:
    async def scenario() -> None:
        nodes = SilentNodes(6)
        addresses = []
        for node_id in range(6):
            port = await nodes.listen(node_id)
            addresses += [
                AdvertisedAddress(node_id, Endpoint(name, "127.0.0.1", port, SecurityProtocol.PLAINTEXT))
                for name in "ABC"
            ]
        peers: Any = None  # is read on listeners with TLS, and where brokers log in
        prober = Prober(Identity("C", 99), "REPLICATION", peers, replace(LIMITS, timeout_ms=400))
        observed = await prober.observe(addresses, addresses)
        assert set(observed) == set(addresses)
        assert {row.usable for row in observed.values()} == {()}
        assert nodes.reached == set(range(6))
        assert nodes.most_of_a_node <= LIMITS.open_connections
        assert nodes.most_together <= NODES_AT_ONCE * LIMITS.open_connections

    asyncio.run(scenario())
