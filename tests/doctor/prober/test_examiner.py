from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import AsyncExitStack
from typing import Any

import pytest

from signalbox.doctor.checks.all_checks import find
from signalbox.doctor.finding import exit_status
from signalbox.doctor.observations import Examination
from signalbox.doctor.prober.examined_listener import Limits
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.api_versions import ApiVersionsResponse
from signalbox.protocol.messages.metadata import MetadataResponse
from signalbox.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeResponse
from tests.client.loopback_cluster import LoopbackCluster
from tests.doctor.hostile import full_backlog, server, silent
from tests.doctor.loopback import add_brokers, examined

pytestmark = pytest.mark.spec("R8")

SASL = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="alice" password="correct-horse";',
}


def codes(examination: Examination) -> list[str]:
    return sorted({finding.code for finding in find(examination)})


async def lying(advertised: dict[int, tuple[str, int]], limits: Limits, **options: Any) -> Examination:
    """A broker whose Metadata has these nodes beside itself."""
    async with LoopbackCluster() as cluster:
        await add_brokers(cluster, 1)
        cluster.advertised.update(advertised)
        return await examined(cluster.bootstrap.partition(",")[0], limits=limits, **options)


def test_a_healthy_cluster_by_name_over_two_entries() -> None:
    async def run() -> Examination:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1, 2, 3)
            entries = cluster.bootstrap.split(",")
            return await examined(",".join(entries[:2]), entries[2])

    examination = asyncio.run(run())
    assert find(examination) == []
    assert [len(listener.addresses) for listener in examination.listeners] == [3, 3]
    assert [row.bootstrap for row in examination.listeners[0].addresses] == [True, True, False]
    assert examination.duration_ms > 0


def test_no_bootstrap_server_responds() -> None:
    assert codes(asyncio.run(examined("127.0.0.1:1,127.0.0.1:2"))) == ["CONNECTION_REFUSED"]


def test_tens_of_thousands_of_nodes_end_the_run() -> None:
    advertised = dict.fromkeys(range(2, 40_000), ("127.0.0.1", 1))
    limits = Limits(timeout_ms=30_000, addresses=50)
    examination = asyncio.run(lying(advertised, limits))
    assert len(examination.listeners[0].addresses) == 50
    assert codes(examination) == ["CONNECTION_REFUSED", "DUPLICATE_ADDRESS", "NOT_CHECKED", "TOO_MANY_BROKERS"]


def test_hosts_that_resolve_to_loopback_or_to_nothing() -> None:
    def lookup(host: str, port: int) -> list[str]:
        if host == "nothing":
            raise OSError(-2, "Name or service not known")
        return [] if host == "empty" else ["127.0.0.1"]

    hosts = ("nothing", "empty", "loopback", "a" * 5_000, "x\x00y", "\u202eevil", "")
    advertised = {index + 2: (host, 1) for index, host in enumerate(hosts)}
    examination = asyncio.run(lying(advertised, Limits(timeout_ms=2_000), lookup=lookup))
    assert codes(examination) == ["CONNECTION_REFUSED", "UNRESOLVED"]


def test_names_that_could_not_be_looked_up_are_not_examined() -> None:
    released = threading.Event()

    def lookup(host: str, port: int) -> list[str]:
        released.wait(60)
        return []

    advertised = {index: (f"name{index}", 1) for index in range(2, 60)}
    try:
        examination = asyncio.run(lying(advertised, Limits(timeout_ms=2_000, run_timeouts=2), lookup=lookup))
    finally:
        released.set()
    assert codes(examination) == ["NOT_CHECKED", "NOT_EXAMINED", "UNRESOLVED"]


def test_what_is_left_out_is_in_the_report() -> None:
    async def run() -> Examination:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1, 2, 3)
            (_, port) = cluster.brokers[1].address
            limits = Limits(timeout_ms=2_000, asked_nodes=2)
            return await examined(f"many:{port}", limits=limits, lookup=lambda *_: ["127.0.0.1"] * 20)

    examination = asyncio.run(run())
    (listener,) = examination.listeners
    limits = (
        "DescribeCluster, FindCoordinator and Fetch: 2 of 3 nodes were asked",
        "IP addresses of many: only the first 16 of 20",
    )
    assert listener.view.unknown == limits
    assert set(limits) < set(listener.view.skipped)
    assert "NOT_CHECKED" in codes(examination)


def test_a_node_that_is_identified_and_then_responds_no_more_leaves_a_doubt() -> None:
    async def run() -> Examination:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1, 2)
            cluster.brokers[2].scripts[ApiKey.DESCRIBE_CLUSTER] = lambda *_: None
            return await examined(cluster.bootstrap, limits=Limits(timeout_ms=2_000))

    examination = asyncio.run(run())
    (finding,) = find(examination)
    assert (finding.code, finding.text) == ("NOT_CHECKED", "not checked: node 2: closed by the broker")
    assert exit_status([finding]) == 2


def test_metadata_that_is_another_one_at_each_address_is_not_followed() -> None:
    async def run() -> tuple[Examination, list[int]]:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1, 2, 3)
            for node_id, broker in cluster.brokers.items():
                following = MetadataResponse.MetadataResponseBroker(
                    node_id=node_id % 3 + 1, host="127.0.0.1", port=cluster.brokers[node_id % 3 + 1].address[1]
                )
                response = MetadataResponse(cluster_id="cluster-A", brokers=[following])
                broker.scripts[ApiKey.METADATA] = lambda *_, response=response: response
            examination = await examined(cluster.bootstrap.partition(",")[0])
            return examination, [broker.connections for broker in cluster.brokers.values()]

    examination, connections = asyncio.run(run())
    assert [row.node_id for row in examination.listeners[0].addresses] == [-1, 2]
    assert connections[2] == 0, "the addresses in the Metadata of the second node are compared, not followed"


def test_a_server_that_always_answers_129() -> None:
    async def run() -> Examination:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            cluster.brokers[1].scripts[ApiKey.API_VERSIONS] = lambda *_: ApiVersionsResponse(
                error_code=Error.REBOOTSTRAP_REQUIRED
            )
            return await examined(cluster.bootstrap)

    assert codes(asyncio.run(run())) == ["ALWAYS_REJECTED"]


def test_a_server_that_answers_129_for_one_node_only() -> None:
    async def run() -> tuple[Examination, int]:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1, 2)
            broker = cluster.brokers[2]
            broker.scripts[ApiKey.API_VERSIONS] = lambda request, _: (
                broker.api_versions(request)
                if request.cluster_id is None
                else ApiVersionsResponse(error_code=Error.REBOOTSTRAP_REQUIRED)
            )
            examination = await examined(cluster.bootstrap.partition(",")[0])
            return examination, broker.connections

    examination, connections = asyncio.run(run())
    assert [(finding.code, finding.node_id) for finding in find(examination)] == [("IDENTITY_REWRITTEN", 2)]
    assert connections <= 10


def test_a_server_that_answers_129_after_the_login_only() -> None:
    async def run() -> tuple[Examination, int]:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            broker, logins = cluster.brokers[1], list[object]()
            broker.scripts[ApiKey.SASL_HANDSHAKE] = lambda *_: SaslHandshakeResponse(mechanisms=["PLAIN"])

            def authenticate(*_: Any) -> SaslAuthenticateResponse:
                logins.append(None)
                return SaslAuthenticateResponse()

            broker.scripts[ApiKey.SASL_AUTHENTICATE] = authenticate
            broker.scripts[ApiKey.API_VERSIONS] = lambda request, _: (
                ApiVersionsResponse(error_code=Error.REBOOTSTRAP_REQUIRED) if logins else broker.api_versions(request)
            )
            return await examined(cluster.bootstrap, properties=SASL), broker.connections

    examination, connections = asyncio.run(run())
    assert codes(examination) == ["ALWAYS_REJECTED"]
    assert connections <= 10


@pytest.mark.slow
def test_a_hundred_addresses_of_which_ninety_do_not_work() -> None:
    """30 refuse connections, 30 accept and keep silent, 30 have a full backlog: a run of few timeouts."""

    async def run() -> Examination:
        async with AsyncExitStack() as stack:
            cluster = await stack.enter_async_context(LoopbackCluster())
            await add_brokers(cluster, *range(1, 11))
            targets = [await stack.enter_async_context(server(silent)) for _ in range(30)]
            targets += [("127.0.0.1", 1)] * 30
            for _ in range(30):
                listening, queued = full_backlog()
                stack.callback(_close, [*queued, listening])
                targets.append(listening.getsockname())
            cluster.advertised.update(enumerate(targets, 11))
            return await examined(cluster.bootstrap.partition(",")[0], limits=Limits(timeout_ms=700, run_timeouts=60))

    examination = asyncio.run(run())
    assert codes(examination) == ["CONNECTION_REFUSED", "DUPLICATE_ADDRESS", "NO_RESPONSE"]
    assert examination.duration_ms < 30_000


def test_a_run_ends_although_hundreds_of_addresses_are_silent() -> None:
    async def run() -> Examination:
        async with server(silent) as address, LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            cluster.advertised.update(dict.fromkeys(range(2, 400), address))
            limits = Limits(timeout_ms=200, open_connections=8, run_timeouts=10)
            return await examined(cluster.bootstrap.partition(",")[0], limits=limits)

    examination = asyncio.run(run())
    assert {"NOT_EXAMINED", "NO_RESPONSE"} <= set(codes(examination))
    rows = examination.listeners[0].addresses
    assert len(rows) == 399
    assert sum(len(row.connections) for row in rows) < 100


def test_an_address_that_hundreds_of_nodes_advertise_is_not_flooded() -> None:
    async def run() -> tuple[Examination, int]:
        open_now, most = 0, 0

        async def counting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal open_now, most
            open_now += 1
            most = max(most, open_now)
            try:
                await reader.read(-1)  # until the doctor closes the connection
            finally:
                open_now -= 1

        async with server(counting) as address, LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            cluster.advertised.update(dict.fromkeys(range(2, 200), address))
            limits = Limits(timeout_ms=200, connections_at_once=3, run_timeouts=3)
            return await examined(cluster.bootstrap.partition(",")[0], limits=limits), most

    examination, most = asyncio.run(run())
    assert "NO_RESPONSE" in codes(examination)
    assert most <= 4, "and one that has timed out and is not read to its end"


def _close(sockets: list[socket.socket]) -> None:
    for sock in sockets:
        sock.close()
