"""Identities on the wire (R2): on listeners with TLS and SASL, on controllers' listeners, and on connections between
nodes; before a login and after it."""

from __future__ import annotations

import ssl
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.handlers.api_versions import ApiVersionsHandler
from signalbox.broker.routing.misroutes import Identity, MisrouteLog
from signalbox.client.admin import AdminClient
from signalbox.client.client_settings import ClientSettings
from signalbox.client.cluster_client import ClusterClient
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.switchboard_thread import SwitchboardThread
from tests.server.advertised.secured_lines import (
    AUTHORITY,
    LISTENERS,
    MUTUAL,
    NODE_LISTENERS,
    PLAIN_MODULE,
    USERS,
    SecuredLines,
)
from tests.system.wire import Wire, log_in
from tests.waiting import until

pytestmark = pytest.mark.spec("R2")

_WRONG = "AAAAAAAAAAAAAAAAAAAAAA"
_REJECTED = (129).to_bytes(2)
_ANONYMOUS, _BY_CERTIFICATE = "User:ANONYMOUS", "User:CN=alice,O=Signal\\, Box,C=DE"
_NODES = ("1", "2")  # the client ids of connections between nodes


@dataclass
class Recorded:
    """The ApiVersions requests and the misroutes of all brokers of this process, by listener."""

    requests: dict[str, list[tuple[str, str, Identity, bool]]] = field(default_factory=lambda: defaultdict(list))
    misroutes: dict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))

    def of_nodes(self, listener: str, since: int = 0) -> list[tuple[str, Identity]]:
        """(principal, identity) of each ApiVersions on a connection between nodes."""
        return [row[1:3] for row in self.requests[listener][since:] if row[0] in _NODES]

    def principals(self, listener: str) -> set[str]:
        """The principals of nodes on a listener: before their login and after it."""
        return {principal for principal, _ in self.of_nodes(listener)}

    def accepted_since(self, listener: str, since: int) -> bool:
        """Whether a node has sent the right identity since so many requests."""
        return any(row[0] in _NODES and row[3] for row in self.requests[listener][since:])


@pytest.fixture(scope="module")
def recorded() -> Iterator[Recorded]:
    """Records what arrives; what the brokers do with it is unchanged."""
    recorded = Recorded()
    handle, rejected = ApiVersionsHandler.__call__, MisrouteLog.rejected

    def record(handler: ApiVersionsHandler, request: ApiRequest) -> HandlerResult:
        context, body = request.context, request.body
        if body is not None:
            identity = (body.cluster_id, body.node_id)
            row = (request.header.client_id or "", str(context.principal), identity, identity == handler._identity)
            recorded.requests[context.listener_name].append(row)
        return handle(handler, request)

    def note(log: MisrouteLog, request: ApiRequest, expected: Identity, actual: Identity) -> None:
        context = request.context
        recorded.misroutes[context.listener_name].append((request.header.client_id or "", str(context.principal)))
        rejected(log, request, expected, actual)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ApiVersionsHandler, "__call__", record)
        patch.setattr(MisrouteLog, "rejected", note)
        yield recorded


@pytest.fixture(scope="module")
def cluster(recorded: Recorded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredLines]:
    with SwitchboardThread() as board, SecuredLines(board, tmp_path_factory.mktemp("secured")) as running:
        yield running


def tls_of(listener: str, folder: Path) -> ssl.SSLContext | None:
    if not LISTENERS[listener].endswith("SSL"):
        return None
    context = ssl.create_default_context(cadata=AUTHORITY.pem)
    if listener == MUTUAL:
        context.load_cert_chain(AUTHORITY.identity("alice").pem_file(folder / "alice.pem"))
    return context


def asking(cluster_id: str | None, node_id: int) -> bytes:
    return ApiVersionsRequest(
        client_software_name="wire", client_software_version="1", cluster_id=cluster_id, node_id=node_id
    ).encode(5)


@pytest.mark.parametrize("listener", LISTENERS)
def test_listeners_compare_the_identity_before_a_login_and_after_it(
    cluster: SecuredLines, recorded: Recorded, listener: str, tmp_path: Path
) -> None:
    """The response is the same for a wrong cluster and for a wrong node, and the connection stays open."""
    own = cluster.nodes[1].components.context.cluster_id
    before = len(recorded.misroutes[listener])
    with Wire(cluster.bound(listener, 1), tls=tls_of(listener, tmp_path)) as wire:

        def body(cluster_id: str | None, node_id: int) -> bytes:
            return wire.ask_raw(ApiKey.API_VERSIONS, 5, asking(cluster_id, node_id))[4:]

        wrong_node, wrong_cluster = body(own, 2), body(_WRONG, 1)
        assert wrong_node == wrong_cluster
        assert wrong_node[:2] == _REJECTED
        assert body(own, 1)[:2] == bytes(2)
        users = [] if not LISTENERS[listener].startswith("SASL") else ["User:alice"]
        if users:
            assert log_in(wire, "alice", USERS["alice"]) == 0
            assert body(own, 2) == body(_WRONG, 1) == wrong_node
            assert body(own, 1)[:2] == bytes(2)
    noted = [principal for client, principal in recorded.misroutes[listener][before:] if client == "wire"]
    assert noted[2:] == 2 * users
    assert set(noted[:2]) == {_BY_CERTIFICATE if listener == MUTUAL else _ANONYMOUS}


async def create_topic(name: str, properties: Mapping[str, str]) -> None:
    """Creates a topic, and asks each node."""
    async with ClusterClient(ClientSettings.from_properties(properties)) as client:
        await AdminClient(client).create_topic(name, 4, 2)
        for node_id in sorted(client.view.nodes):
            await client.request(node_id, MetadataRequest(topics=[]))


@pytest.mark.spec("R4")
@pytest.mark.parametrize("listener", ["CLIENT", "TLS", "SASL", "BOTH"])
def test_our_client_sends_the_identity_of_each_node_that_it_has_discovered(
    cluster: SecuredLines, recorded: Recorded, listener: str, tmp_path: Path
) -> None:
    (tmp_path / "authority.pem").write_text(AUTHORITY.pem)
    name = f"client-on-{listener}"
    properties = {
        "bootstrap.servers": cluster.bound(listener, 1),
        "client.id": name,
        "security.protocol": LISTENERS[listener],
        "ssl.truststore.location": str(tmp_path / "authority.pem"),
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN_MODULE} username="alice" password="{USERS["alice"]}";',
    }
    cluster.run(create_topic(name, properties))
    own = cluster.nodes[1].components.context.cluster_id
    principals = [_ANONYMOUS, "User:alice"] if LISTENERS[listener].startswith("SASL") else [_ANONYMOUS]
    rows = {(principal, identity) for client, principal, identity, _ in recorded.requests[listener] if client == name}
    discovered = {(principal, (own, node_id)) for principal in principals for node_id in (1, 2)}
    bootstrap = {(principal, (None, -1)) for principal in principals}
    assert rows == discovered | bootstrap


def test_nodes_send_the_identity_on_each_connection_before_a_login_and_after_it(
    cluster: SecuredLines, recorded: Recorded
) -> None:
    """Controller to broker, broker to controller, follower to leader: on every listener of nodes, with TLS or SASL."""
    cluster.run(create_topic("replicated", {"bootstrap.servers": cluster.bound("CLIENT", 1)}))
    for listener, protocol in NODE_LISTENERS.items():
        expected = {_ANONYMOUS, "User:broker"} if protocol.startswith("SASL") else {_ANONYMOUS}
        holds = partial(lambda name, users: recorded.principals(name) == users, listener, expected)
        until(holds, f"connections of nodes on {listener}")
    own = cluster.nodes[1].components.context.cluster_id
    sent = {identity for listener in NODE_LISTENERS for _, identity in recorded.of_nodes(listener)}
    assert sent == {(own, 1), (own, 2)}
    assert not any(client in _NODES for rows in recorded.misroutes.values() for client, _ in rows)


@pytest.mark.parametrize("listener", NODE_LISTENERS)
def test_nodes_whose_addresses_are_exchanged_are_rejected_before_they_log_in(
    cluster: SecuredLines, recorded: Recorded, listener: str
) -> None:
    """Before the password is sent; and they connect again when the route is right."""
    before = len(recorded.misroutes[listener])
    cluster.board.swap(f"{listener}1", f"{listener}2")
    until(lambda: any(row[0] in _NODES for row in recorded.misroutes[listener][before:]), f"a misroute on {listener}")
    assert {principal for _, principal in recorded.misroutes[listener][before:]} == {_ANONYMOUS}
    restored_at = len(recorded.requests[listener])
    cluster.board.restore(f"{listener}1", f"{listener}2")
    until(lambda: recorded.accepted_since(listener, restored_at), f"connections on {listener} again")
