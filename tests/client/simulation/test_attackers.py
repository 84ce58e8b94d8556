"""Servers that lie, each with its name: a client goes on calling them, and neither spins nor hangs.

Time is virtual: a minute of calls, one after the other, each with a timeout of two seconds. Bounded are the attempts to
connect and the requests of that minute, and the time of each call.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from signalbox.client import NewTopic
from signalbox.client.admin import AdminClient
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.connection import stream_opener
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.api_versions import ApiVersionsResponse
from signalbox.protocol.messages.create_topics import CreateTopicsResponse
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from signalbox.protocol.messages.metadata import MetadataRequest, MetadataResponse
from signalbox.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeResponse
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster
from tests.client.simulation.attacked import CALL_TIMEOUT_MS, GRACE_S, Attacked

pytestmark = pytest.mark.spec("R5", "R6")

REJECTED = ApiVersionsResponse(error_code=Error.REBOOTSTRAP_REQUIRED)
PASSWORD = "open-sesame-17"
LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": (
        f'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="{PASSWORD}";'
    ),
}


async def any_node(client: ClusterClient) -> Any:
    return await client.request_any(MetadataRequest(topics=[]), timeout_ms=CALL_TIMEOUT_MS)


async def node_two(client: ClusterClient) -> Any:
    return await client.request(2, MetadataRequest(topics=[]), timeout_ms=CALL_TIMEOUT_MS)


def on_all(api: ApiKey, script: Callable[[Any, int], Any]) -> Callable[[LoopbackCluster], None]:
    """Every broker answers an API like this."""

    def prepare(cluster: LoopbackCluster) -> None:
        for broker in cluster.brokers.values():
            broker.scripts[api] = script

    return prepare


def check(attacked: Attacked, *, attempts: int, requests: int) -> None:
    """How often the client connected and sent requests, and that no call outlived its timeout."""
    assert attacked.longest_s <= CALL_TIMEOUT_MS / 1000 + GRACE_S
    assert 0 < attacked.network.attempts <= attempts, attacked.network.attempts
    assert attacked.requests <= requests, attacked.requests


def test_a_server_that_always_answers_129() -> None:
    attacked = Attacked(on_all(ApiKey.API_VERSIONS, lambda *_: REJECTED)).run(any_node)
    check(attacked, attempts=300, requests=300)
    assert "ok" not in attacked.results
    assert any("129" in text for text in attacked.texts), attacked.texts


def test_a_server_that_answers_129_for_one_node_only() -> None:
    def prepare(cluster: LoopbackCluster) -> None:
        broker = cluster.brokers[2]
        broker.scripts[ApiKey.API_VERSIONS] = lambda request, _: (
            REJECTED if request.cluster_id is not None else broker.api_versions(request)
        )

    attacked = Attacked(prepare).run(node_two)
    check(attacked, attempts=200, requests=300)
    assert "ok" not in attacked.results
    assert attacked.rebootstraps <= 7
    others = Attacked(prepare).run(any_node, seconds=10.0)
    assert set(others.results) == {"ok"}, "the other nodes keep working"


class AfterLogin(LoopbackBroker):
    """Accepts every login; the second ApiVersions of a connection has error 129 if it has an identity."""

    def __init__(self, node_id: int, cluster: LoopbackCluster) -> None:
        super().__init__(node_id, cluster)
        self._logged_in: set[Any] = set()
        self._writer: Any = None
        self.scripts[ApiKey.SASL_HANDSHAKE] = lambda *_: SaslHandshakeResponse(mechanisms=["PLAIN"])
        self.scripts[ApiKey.SASL_AUTHENTICATE] = self._authenticate
        self.scripts[ApiKey.API_VERSIONS] = self._versions

    async def _handle(self, frame: bytes, writer: Any) -> None:
        self._writer = writer
        await super()._handle(frame, writer)

    def _authenticate(self, *_: Any) -> Any:
        self._logged_in.add(self._writer)
        return SaslAuthenticateResponse()

    def _versions(self, request: Any, _: int) -> Any:
        misrouted = self._writer in self._logged_in and request.cluster_id is not None
        return REJECTED if misrouted else self.api_versions(request)


def with_logins(cluster: LoopbackCluster) -> None:
    for node_id in tuple(cluster.brokers):
        cluster.brokers[node_id] = AfterLogin(node_id, cluster)


def test_a_server_that_answers_129_after_the_login_only() -> None:
    attacked = Attacked(lambda _: None)
    with_logins(attacked.cluster)
    for node_id, route in attacked.routes.items():
        route.home = route.broker = attacked.cluster.brokers[node_id]
    attacked.run(any_node, properties=LOGIN)
    check(attacked, attempts=550, requests=2_200)
    assert "ok" not in attacked.results
    assert all(PASSWORD not in text for text in attacked.texts)


def test_metadata_of_another_cluster_each_time() -> None:
    numbers = itertools.count()

    def prepare(cluster: LoopbackCluster) -> None:
        for broker in cluster.brokers.values():
            broker.compares_identity = False
            broker.scripts[ApiKey.METADATA] = partial(renamed, broker)

    def renamed(broker: LoopbackBroker, request: Any, _: int) -> Any:
        response = broker.metadata(request)
        response.cluster_id = f"cluster-{next(numbers)}"
        return response

    async def ask(client: ClusterClient) -> Any:
        client.metadata_updater.refresh_soon()
        return await any_node(client)

    attacked = Attacked(prepare).run(ask)
    check(attacked, attempts=200, requests=8_000)
    assert attacked.rebootstraps <= 10


def test_node_ids_that_change_with_each_metadata() -> None:
    numbers = itertools.count(1)

    def prepare(cluster: LoopbackCluster) -> None:
        for broker in cluster.brokers.values():
            broker.scripts[ApiKey.METADATA] = partial(shifted, broker)

    def shifted(broker: LoopbackBroker, request: Any, _: int) -> Any:
        response = broker.metadata(request)
        shift = 3 * next(numbers)
        for row in response.brokers:
            row.node_id += shift
        return response

    attacked = Attacked(prepare).run(any_node, seconds=20.0)
    check(attacked, attempts=1_500, requests=1_500)  # most of them probes of addresses that are quarantined again


def test_metadata_of_a_hundred_thousand_nodes() -> None:
    row = MetadataResponse.MetadataResponseBroker
    nodes = [row(node_id=number, host="10.1.0.1", port=1) for number in range(4, 100_000)]
    encoded: dict[int, bytes] = {}

    def prepare(cluster: LoopbackCluster) -> None:
        real = [row(node_id=node_id, host=host, port=port) for node_id, (host, port) in cluster.advertised.items()]
        response = MetadataResponse(cluster_id="cluster-A", controller_id=1, brokers=[*real, *nodes])

        def answer(_: Any, version: int) -> bytes:
            if version not in encoded:
                encoded[version] = response.encode(version)
            return encoded[version]

        on_all(ApiKey.METADATA, answer)(cluster)

    attacked = Attacked(prepare)

    async def known(client: ClusterClient) -> Any:
        return await client.request(1, ListOffsetsRequest(topics=[]), timeout_ms=CALL_TIMEOUT_MS)

    attacked.run(known, seconds=1.0)
    check(attacked, attempts=20, requests=400)
    assert attacked.results["ok"] > attacked.results["NoUsableNode"], "only before the client knows the nodes"


def test_endless_redirects_to_another_leader() -> None:
    def elsewhere(request: Any, _: int) -> Any:
        part = ListOffsetsResponse.ListOffsetsPartitionResponse
        rows = [part(partition_index=0, error_code=Error.NOT_LEADER_OR_FOLLOWER)]
        return ListOffsetsResponse(topics=[ListOffsetsResponse.ListOffsetsTopicResponse(name="t", partitions=rows)])

    async def ask(client: ClusterClient) -> Any:
        admin = AdminClient(client)
        return await admin.list_offsets([TopicPartition("t", 0)], -1, timeout_ms=CALL_TIMEOUT_MS)

    attacked = Attacked(on_all(ApiKey.LIST_OFFSETS, elsewhere)).run(ask)
    check(attacked, attempts=50, requests=3_000)
    assert "ok" not in attacked.results


def test_endless_redirects_to_another_controller() -> None:
    def elsewhere(request: Any, _: int) -> Any:
        row = CreateTopicsResponse.CreatableTopicResult
        return CreateTopicsResponse(topics=[row(name="new", error_code=Error.NOT_CONTROLLER)])

    async def ask(client: ClusterClient) -> Any:
        results = await AdminClient(client).create_topics([NewTopic(name="new")], timeout_ms=CALL_TIMEOUT_MS)
        results["new"].raise_for_error()

    attacked = Attacked(on_all(ApiKey.CREATE_TOPICS, elsewhere)).run(ask)
    check(attacked, attempts=50, requests=3_000)
    assert "ok" not in attacked.results


@pytest.mark.parametrize("hosts", ["loopback", "nothing", "no name"])
def test_hosts_that_lead_to_loopback_or_to_nothing(hosts: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bootstrap servers respond; the nodes that they name are at this host's own ports, or have no address."""
    names = {"loopback": "127.0.0.1", "nothing": "nothing.example", "no name": "x\0y"}

    async def look_up(host: str, port: int) -> list[str]:
        raise OSError(-2, "Name or service not known")

    monkeypatch.setattr(stream_opener, "look_up_in_thread", look_up)

    def prepare(cluster: LoopbackCluster) -> None:
        cluster.advertised = dict.fromkeys((1, 2, 3), (names[hosts], 9))

    attacked = Attacked(prepare).run(any_node)
    check(attacked, attempts=600, requests=900)
    assert "ok" not in attacked.results


def test_a_password_that_the_server_returns_is_not_in_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    def prepare(cluster: LoopbackCluster) -> None:
        on_all(ApiKey.SASL_HANDSHAKE, lambda *_: SaslHandshakeResponse(mechanisms=["PLAIN"]))(cluster)
        rejected = Error.SASL_AUTHENTICATION_FAILED
        on_all(
            ApiKey.SASL_AUTHENTICATE,
            lambda request, _: SaslAuthenticateResponse(
                error_code=rejected, error_message=f"{bytes(request.auth_bytes)!r} {PASSWORD.encode().hex()}\x1b[2J"
            ),
        )(cluster)

    attacked = Attacked(prepare).run(any_node, properties=LOGIN)
    check(attacked, attempts=300, requests=900)
    for text in (*attacked.texts, caplog.text):
        assert PASSWORD not in text
        assert PASSWORD.encode().hex() not in text
        assert "\x1b" not in text
    assert any("[hidden]" in text for text in attacked.texts)
