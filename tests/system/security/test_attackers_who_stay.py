"""Clients that keep a connection and do nothing useful with it: silent ones, slow ones, ones that never read.

The brokers have short timeouts, so that no test waits ten minutes.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from signalbox.common.audit_event import AuditKind
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.messages.fetch import FetchRequest
from signalbox.testing.process_cluster import ProcessCluster
from tests.network.test_tls_attacks import PLANES, under_attack
from tests.system.attackers import (
    API_VERSIONS,
    METADATA,
    Bystander,
    announced,
    closed_within,
    connect,
    crowd,
    flood,
    process_id,
    request,
    resident_mib,
)
from tests.system.clusters import QUICK, metric
from tests.system.provision import command
from tests.system.wire import Closed, Wire, dial, log_in
from tests.waiting import until

NEEDS = (partial(command, "openssl"),)
_PATIENCE_S = 2.0
_SWEEPS_S = 3.0  # expired connections are closed by a check once a second; the machine may be busy
_JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="secret";'
_BIG = "big"
_BIG_BYTES = 24 << 20


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    names = ("CLIENT", "LOGIN", "REPLICATION", "CONTROL")
    patience_ms = str(int(_PATIENCE_S * 1000))
    overrides = {
        **QUICK,
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in names),
        "listener.security.protocol.map": ",".join(
            f"{name}:{'SASL_PLAINTEXT' if name == 'LOGIN' else 'PLAINTEXT'}" for name in names
        ),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.login.plain.sasl.jaas.config": _JAAS,
        "connections.max.idle.ms": patience_ms,
        "signalbox.connection.setup.timeout.ms": patience_ms,
        "signalbox.connection.write.stall.timeout.ms": patience_ms,
    }
    with ProcessCluster(tmp_path_factory.mktemp("impatient"), 1, overrides=overrides) as cluster:
        _fill(cluster.bootstrap())
        yield cluster


def _fill(servers: str) -> None:
    """Creates a topic that holds more than a socket buffer takes."""
    new = NewTopic(_BIG, 1, 1, config={"max.message.bytes": str(2 << 20)})
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([new])[_BIG].result(20)
    producer = Producer({"bootstrap.servers": servers, "message.max.bytes": 2 << 20, "linger.ms": 0})
    for _ in range(_BIG_BYTES >> 20):
        producer.produce(_BIG, bytes(1 << 20))
        producer.flush(20)


def _fetch_all() -> bytes:
    part = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=_BIG_BYTES)
    topic = FetchRequest.FetchTopic(topic=_BIG, partitions=[part])
    return FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=_BIG_BYTES, topics=[topic]).encode(4)


def test_silent_and_stalled_connections_are_closed(impatient: ProcessCluster) -> None:
    before = _timed_out(impatient)
    beginnings = (b"", b"\0", announced(10_000))
    with ExitStack() as stack:
        stack.enter_context(Bystander(impatient))
        began = time.monotonic()
        silent = []
        for listener, beginning in itertools.product(("CLIENT", "LOGIN", "CONTROL"), beginnings):
            silent.append(stack.enter_context(dial(impatient, 1, listener)))
            silent[-1].send(beginning)
        for each in silent:
            assert each.closed()
            assert _PATIENCE_S - 0.1 < time.monotonic() - began < _PATIENCE_S + _SWEEPS_S
    assert _timed_out(impatient) >= before + len(silent)


def _timed_out(cluster: ProcessCluster) -> float:
    return metric(cluster, 1, "signalbox_network_socketserver_timedoutconnections_total")


def test_a_request_sent_byte_by_byte_is_answered_when_it_is_complete(impatient: ProcessCluster) -> None:
    """The request takes longer than the idle timeout, but the connection is never idle."""
    with Bystander(impatient) as bystander, dial(impatient) as slow:
        data = slow.request(ApiKey.API_VERSIONS, 3, API_VERSIONS)
        began = time.monotonic()
        for number in range(len(data)):
            slow.send(data[number : number + 1])
            asked = bystander.asked
            until(partial(bystander.has_asked, asked + 40), "forty responses to the bystander")
        assert len(slow.frame()) > 100
        assert time.monotonic() - began > _PATIENCE_S


def test_without_a_login_a_byte_at_a_time_is_not_enough(impatient: ProcessCluster) -> None:
    with Bystander(impatient), dial(impatient, 1, "LOGIN") as slow:
        began = time.monotonic()
        slow.send(announced(10_000))

        def takes_no_more() -> bool:
            try:
                slow.send(b"\0")
            except Closed:
                return True
            return False

        until(takes_no_more, "its end", _PATIENCE_S + _SWEEPS_S)
        assert time.monotonic() - began > _PATIENCE_S - 0.1


@pytest.mark.parametrize("listener", ["CLIENT", "LOGIN"])
def test_a_login_in_time_is_no_reason_to_stay_for_ever(impatient: ProcessCluster, listener: str) -> None:
    with dial(impatient, 1, listener) as idle:
        if listener == "LOGIN":
            assert log_in(idle, "alice", "secret") == 0
        idle.ask_raw(ApiKey.METADATA, 12, METADATA)
        began = time.monotonic()
        assert idle.closed()
        assert time.monotonic() - began > _PATIENCE_S - 0.1


def test_clients_that_fetch_and_do_not_read_are_closed(impatient: ProcessCluster) -> None:
    """Twenty clients request 24 MB five times each: the pending responses are in files, not in memory."""
    pid = process_id(impatient)
    before = resident_mib(pid)
    address = impatient.brokers[1].address("CLIENT")
    with Bystander(impatient) as bystander, crowd(address, 20) as greedy:
        began = time.monotonic()
        for sock in greedy:
            sock.sendall(request(ApiKey.FETCH, 4, _fetch_all()) * 5)
        asked = bystander.asked
        until(lambda: bystander.asked > asked + 100, "responses to the bystander")
        assert resident_mib(pid) - before < 100
        until(lambda: _open_data_connections(impatient) <= 5, "the end of those who read nothing")
        assert time.monotonic() - began > _PATIENCE_S - 0.1


def _open_data_connections(cluster: ProcessCluster) -> float:
    return metric(cluster, 1, "signalbox_network_socketserver_connections", plane="data")


def test_a_slow_reader_gets_the_complete_response(impatient: ProcessCluster) -> None:
    """Reading takes much longer than the idle and the stall timeout, but some bytes are read now and then."""
    with Bystander(impatient) as bystander, dial(impatient) as slow:
        slow.send(slow.request(ApiKey.FETCH, 4, _fetch_all()))
        began = time.monotonic()
        size = int.from_bytes(slow.read(4))
        assert size > _BIG_BYTES / 2
        left, portion = size, size // 40
        while left:
            left -= len(slow.read(min(portion, left)))
            asked = bystander.asked
            until(partial(bystander.has_asked, asked + 40), "forty responses to the bystander")
        assert time.monotonic() - began > 2 * _PATIENCE_S
        slow.ask_raw(ApiKey.METADATA, 12, METADATA)


@pytest.mark.parametrize(
    ("api_key", "version", "body"), [(ApiKey.API_VERSIONS, 3, API_VERSIONS), (ApiKey.METADATA, 12, METADATA)]
)
def test_clients_that_flood_and_do_not_read_are_closed(
    impatient: ProcessCluster, api_key: ApiKey, version: int, body: bytes
) -> None:
    pid = process_id(impatient)
    before = resident_mib(pid)
    with Bystander(impatient), crowd(impatient.brokers[1].address("CLIENT"), 3) as deaf:
        for sock in deaf:
            sock.settimeout(0.5)
            with pytest.raises(TimeoutError):  # the broker has stopped reading
                sock.sendall(flood(api_key, version, body) * 100)
        assert resident_mib(pid) - before < 100
        until(lambda: _open_data_connections(impatient) <= 4, "the end of those who read nothing")


def test_before_a_login_nothing_is_answered_but_api_versions(impatient: ProcessCluster) -> None:
    """Every other API closes the connection."""
    with Bystander(impatient):
        for row in API_TABLE.values():
            if row.key in (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE):
                continue
            with dial(impatient, 1, "LOGIN") as unauthenticated:
                unauthenticated.ask_raw(ApiKey.API_VERSIONS, 3, API_VERSIONS)
                unauthenticated.send(unauthenticated.request(row.key, row.max_version))
                if row.key == ApiKey.SASL_AUTHENTICATE:
                    assert _last_frame_is_short(unauthenticated)
                else:
                    assert unauthenticated.closed(), row.name


def _last_frame_is_short(unauthenticated: Wire) -> bool:
    """An error, then the end of the connection: nothing that a client could use."""
    try:
        length = len(unauthenticated.frame())
    except Closed:
        return True
    return length < 200 and unauthenticated.closed()


def test_a_flood_before_a_login_ends_at_once(impatient: ProcessCluster) -> None:
    with Bystander(impatient):
        sock = connect(impatient.brokers[1].address("LOGIN"))
        try:
            sock.sendall(flood(ApiKey.API_VERSIONS, 3, API_VERSIONS))
        except ConnectionError:
            pass  # closed while the requests were being sent
        assert closed_within(sock, _PATIENCE_S) < _PATIENCE_S - 0.5, "not by a timeout"
        sock.close()


@pytest.mark.spec("L7")
@pytest.mark.parametrize("listener", PLANES)
def test_renegotiation_is_rejected(listener: str) -> None:
    """TLS 1.2 lets a client request one handshake after another on a connection; each costs the broker 1 ms. By
    `openssl s_client`: Python's ssl never requests one."""

    async def main() -> None:
        async with under_attack(listener) as (served, _):
            client = [command("openssl"), "s_client", "-tls1_2", "-connect", f"127.0.0.1:{served.ports[listener]}"]
            attackers = [
                await asyncio.create_subprocess_exec(*client, stdin=PIPE, stdout=PIPE, stderr=STDOUT) for _ in range(5)
            ]
            for attacker in attackers:
                assert attacker.stdin is not None
                attacker.stdin.write(b"R\n" * 20)
                output, _nothing = await attacker.communicate()
                assert b"RENEGOTIATING" in output
            events = await served.recorder.until(AuditKind.REJECTED, 5)
            assert {event.reason for event in events} == {"the peer asked for a TLS renegotiation, which is rejected"}
            assert served.recorder.counts["Rejections", listener, "tls_renegotiation"] == 5

    asyncio.run(main())
