from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from signalbox.client.connection.node import Address, Identity
from signalbox.common.ids import Grade
from signalbox.doctor.observations import AddressObservation, Fault, LeftOut
from signalbox.doctor.prober.address_prober import AddressProber, Probe, Run
from signalbox.doctor.prober.examined_listener import ExaminedListener, Limits, Questions
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.api_versions import ApiVersionsResponse
from signalbox.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeResponse
from tests.client.loopback_cluster import LoopbackCluster
from tests.doctor.hostile import HTTP, TLS_ALERT, Serve, closing, dripping, full_backlog, sending, server, silent
from tests.doctor.loopback import add_brokers

pytestmark = pytest.mark.spec("R8")

HURRIED = Limits(timeout_ms=400, connections_per_address=3)
PATIENT = Limits(timeout_ms=5_000, connections_per_address=3)
PASSWORD = "correct-horse-battery"
SASL = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
    f'username="alice" password="{PASSWORD}";',
}


async def probed(
    address: Address,
    limits: Limits = PATIENT,
    properties: dict[str, str] | None = None,
    questions: Questions = Questions.ALL,
    **fields: Any,
) -> AddressObservation:
    listener = replace(ExaminedListener.of("127.0.0.1:1", properties or {}, limits), questions=questions)
    run = Run(limits, lambda host, port: ["127.0.0.1"])
    given = {"connections": limits.connections_per_address, **fields}
    return await AddressProber(listener, run).probe(Probe(address, **given))


@pytest.mark.parametrize(
    ("serve", "fault"),
    [
        (silent, Fault.TIMEOUT),
        (dripping, Fault.TIMEOUT),
        (closing, Fault.CLOSED),
        (sending(TLS_ALERT), Fault.TLS_EXPECTED),
        (sending(HTTP), Fault.HTTP),
        (sending(b"SSH-2.0-OpenSSH_9.2\r\n"), Fault.NOT_KAFKA),
        (sending(b"\x00\x00\x00\x01\x00"), Fault.NOT_KAFKA),
        (sending(b"\x00\x00\x00\x04\xff\xff\xff\xff"), Fault.NOT_KAFKA),
        (sending(b"\x00\x00\x00\x0c\x00\x00\x00\x00\x00\x81\x01\x00\x00\x00\x00\x00"), Fault.ALWAYS_REJECTED),
    ],
)
def test_peers_that_are_no_brokers(serve: Serve, fault: Fault) -> None:
    async def run() -> AddressObservation:
        async with server(serve) as address:
            return await probed(Address(*address), HURRIED)

    row = asyncio.run(run())
    assert [connection.fault for connection in row.connections] == [fault], row.connections
    assert row.connections[0].text


def test_connections_that_are_not_accepted() -> None:
    async def run() -> list[Fault]:
        listening, queued = full_backlog()
        try:
            late = await probed(Address(*listening.getsockname()), HURRIED)
        finally:
            for sock in (*queued, listening):
                sock.close()
        unused = await probed(Address("127.0.0.1", 1), HURRIED)
        return [late.connections[0].fault, unused.connections[0].fault]

    assert asyncio.run(run()) == [Fault.TIMEOUT, Fault.CONNECTION_REFUSED]


@pytest.mark.parametrize("address", [Address("h", 0), Address("h", 70_000), Address("h", -1), Address("a\x1bb", 1)])
def test_addresses_that_are_not_connected_to(address: Address) -> None:
    row = asyncio.run(probed(address))
    assert row.connections == ()
    assert row.resolve_text or not row.examined


def test_several_connections_to_the_expected_node_and_to_another_one() -> None:
    async def run() -> tuple[AddressObservation, AddressObservation, int]:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1, 2)
            address = Address(*cluster.brokers[1].address)
            right = await probed(address, expected=Identity("cluster-A", 1), node_id=1)
            rejected = cluster.brokers[1].rejected
            wrong = await probed(address, expected=Identity("cluster-A", 2), node_id=2)
            return right, wrong, rejected

    right, wrong, rejected = asyncio.run(run())
    assert [(row.node_id, row.grade) for row in right.connections] == [(1, Grade.VERIFIED)] * 3
    assert rejected == 1, "one wrong identity per address"
    assert [row.node_id for row in wrong.connections] == [1, 1, 1]
    assert wrong.connections[0].grade == Grade.SEARCHED
    assert sorted(right.brokers) == ["1", "2"]


@pytest.mark.parametrize("questions", [Questions.IF_REJECTED, Questions.HANDSHAKE])
def test_a_node_that_accepts_the_expected_identity_is_asked_no_more(questions: Questions) -> None:
    """It has no misrouted connection in its log, however often it is probed."""

    async def run() -> tuple[AddressObservation, int, list[ApiKey]]:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1, 2)
            broker = cluster.brokers[1]
            row = await probed(
                Address(*broker.address), questions=questions, expected=Identity("cluster-A", 1), node_id=1
            )
            return row, broker.rejected, [key for key, _, _ in broker.requests]

    row, rejected, asked = asyncio.run(run())
    assert [(one.node_id, one.grade, one.cluster_id) for one in row.connections] == [
        (1, Grade.VERIFIED, "cluster-A")
    ] * 3
    assert (rejected, asked) == (0, [ApiKey.API_VERSIONS] * 3)


@pytest.mark.parametrize(
    ("candidates", "found"),
    [((1, 2), (1, Grade.SEARCHED, "ready")), ((2, 3), (-1, Grade.REJECTED, "api-versions"))],
)
def test_a_handshake_alone_names_another_node_among_the_candidates(
    candidates: tuple[int, ...], found: tuple[int, Grade, str]
) -> None:
    async def run() -> tuple[AddressObservation, set[ApiKey]]:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1, 2)
            broker = cluster.brokers[1]
            expected = Identity("cluster-A", 2)
            row = await probed(
                Address(*broker.address),
                questions=Questions.HANDSHAKE,
                expected=expected,
                node_id=2,
                candidates=candidates,
                connections=1,
            )
            return row, {key for key, _, _ in broker.requests}

    row, asked = asyncio.run(run())
    assert [(one.node_id, one.grade, one.stage) for one in row.connections] == [found]
    assert asked == {ApiKey.API_VERSIONS}


def test_a_handshake_alone_proves_nothing_of_a_broker_without_identities() -> None:
    async def run() -> AddressObservation:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            broker = cluster.brokers[1]
            broker.api_versions_max = broker.max_versions[ApiKey.API_VERSIONS] = 4
            expected = Identity("cluster-A", 1)
            return await probed(Address(*broker.address), questions=Questions.HANDSHAKE, expected=expected, node_id=1)

    assert {(one.node_id, one.grade, one.api_versions_max) for one in asyncio.run(run()).connections} == {
        (-1, Grade.NONE, 4)
    }


def test_old_brokers_are_identified_on_each_connection() -> None:
    async def run() -> AddressObservation:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1, 2)
            broker = cluster.brokers[1]
            broker.api_versions_max = broker.max_versions[ApiKey.API_VERSIONS] = 3
            return await probed(Address(*broker.address), expected=Identity("cluster-A", 1), node_id=1)

    assert [(row.node_id, row.grade) for row in asyncio.run(run()).connections] == [(1, Grade.CONFIGS)] * 3


def test_a_listener_with_sasl_is_recognised_by_its_mechanisms() -> None:
    async def run() -> AddressObservation:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            broker = cluster.brokers[1]
            broker.scripts[ApiKey.METADATA] = lambda *_: None
            broker.scripts[ApiKey.SASL_HANDSHAKE] = lambda *_: SaslHandshakeResponse(
                error_code=Error.UNSUPPORTED_SASL_MECHANISM, mechanisms=["PLAIN", "SCRAM-SHA-512"]
            )
            return await probed(Address(*broker.address))

    (row,) = asyncio.run(run()).connections
    assert (row.fault, row.sasl_mechanisms) == (Fault.SASL_EXPECTED, ("PLAIN", "SCRAM-SHA-512"))


def test_a_password_that_the_server_returns_is_hidden() -> None:
    async def run() -> AddressObservation:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            scripts = cluster.brokers[1].scripts
            scripts[ApiKey.SASL_HANDSHAKE] = lambda *_: SaslHandshakeResponse(mechanisms=["PLAIN"])
            scripts[ApiKey.SASL_AUTHENTICATE] = lambda request, _: SaslAuthenticateResponse(
                error_code=Error.SASL_AUTHENTICATION_FAILED,
                error_message=f"{bytes(request.auth_bytes)!r} {PASSWORD.encode().hex()} \x1b[2J",
            )
            return await probed(Address(*cluster.brokers[1].address), properties=SASL)

    (row,) = asyncio.run(run()).connections
    assert row.fault == Fault.AUTHENTICATION
    assert "alice" in row.text
    assert PASSWORD not in row.text
    assert PASSWORD.encode().hex() not in row.text
    assert "\x1b" not in row.text


def test_a_password_is_not_sent_to_a_node_that_rejects_every_identity() -> None:
    async def run() -> tuple[AddressObservation, list[Any]]:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            broker = cluster.brokers[1]
            broker.scripts[ApiKey.API_VERSIONS] = lambda *_: ApiVersionsResponse(error_code=Error.REBOOTSTRAP_REQUIRED)
            address = Address(*broker.address)
            expected = Identity("cluster-B", 1)
            row = await probed(address, properties=SASL, expected=expected, node_id=1, candidates=(1, 2, 3))
            return row, broker.seen(ApiKey.SASL_AUTHENTICATE)

    row, sent = asyncio.run(run())
    assert (row.connections[0].grade, row.connections[0].stage) == (Grade.REJECTED, "api-versions")
    assert sent == []


def test_a_run_that_is_over_begins_no_more_connections() -> None:
    over = Limits(timeout_ms=1_000, run_timeouts=0)
    row = asyncio.run(probed(Address("127.0.0.1", 1), over))
    assert (row.examined, row.connections) == (False, ())


@pytest.mark.parametrize("password", ["kafka", "1", "example.com"])
def test_a_password_that_is_a_part_of_the_host_name(password: str) -> None:
    properties = {**SASL, "sasl.jaas.config": SASL["sasl.jaas.config"].replace(PASSWORD, password)}

    async def run() -> AddressObservation:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            scripts = cluster.brokers[1].scripts
            scripts[ApiKey.SASL_HANDSHAKE] = lambda *_: SaslHandshakeResponse(mechanisms=["PLAIN"])
            scripts[ApiKey.SASL_AUTHENTICATE] = lambda *_: SaslAuthenticateResponse()
            cluster.advertised[1] = ("kafka-1.example.com", 9092)
            address = Address("kafka-1.example.com", cluster.brokers[1].address[1])
            return await probed(address, properties=properties, expected=Identity("cluster-A", 1), node_id=1)

    row = asyncio.run(run())
    assert (row.host, row.resolve_text, row.cluster_id) == ("kafka-1.example.com", "", "cluster-A")
    assert [connection.node_id for connection in row.connections] == [1, 1, 1]
    assert row.brokers == {"1": "kafka-1.example.com:9092"}


def test_a_response_of_more_than_a_mebibyte_is_not_read() -> None:
    async def run() -> AddressObservation:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            cluster.advertised.update(dict.fromkeys(range(2, 60_000), ("127.0.0.1", 1)))
            return await probed(Address(*cluster.brokers[1].address), Limits(timeout_ms=30_000))

    (row,) = asyncio.run(run()).connections
    assert (row.fault, row.node_id) == (Fault.NOT_KAFKA, -1)


def test_what_is_left_out_is_reported() -> None:
    """A Metadata with 150 addresses that the bootstrap server does not have."""

    async def run() -> tuple[AddressObservation, list[LeftOut]]:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            cluster.advertised.update({node_id: ("other", node_id) for node_id in range(2, 152)})
            listener = ExaminedListener.of("127.0.0.1:1", {}, PATIENT)
            prober = AddressProber(listener, Run(PATIENT, lambda host, port: ["127.0.0.1"] * 20))
            address = Address("many", cluster.brokers[1].address[1])
            known = frozenset([(1, cluster.advertised[1])])
            row = await prober.probe(Probe(address, known_brokers=known))
            return row, prober.skipped

    row, skipped = asyncio.run(run())
    assert (len(row.ips), len(row.brokers), "1" in row.brokers) == (16, 100, False)
    assert skipped == [
        LeftOut("IP addresses of many: only the first 16 of 20"),
        LeftOut("differing addresses in the Metadata of many: only the first 100 of 150"),
    ]


def test_a_probe_survives_what_no_code_expects(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise LookupError("a case that no code expects")

    monkeypatch.setattr("signalbox.doctor.prober.address_prober.identify", broken)

    async def run() -> AddressObservation:
        async with LoopbackCluster() as cluster:
            await add_brokers(cluster, 1)
            return await probed(Address(*cluster.brokers[1].address))

    (row,) = asyncio.run(run()).connections
    assert (row.fault, row.text) == (Fault.NOT_KAFKA, "a case that no code expects")
