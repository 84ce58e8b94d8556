"""Many clients at once: idle ones, more than a limit allows, faster than a limit allows, more than there are file
descriptors."""

from __future__ import annotations

import os
import random
import resource
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.attackers import (
    API_VERSIONS,
    METADATA,
    Bystander,
    announced,
    closed_within,
    connect,
    crowd,
    drained,
    flood,
    is_served,
    process_id,
    resident_mib,
)
from tests.system.clusters import QUICK, metric
from tests.system.wire import dial
from tests.waiting import until

_CAP = 20
_RATE = 10
_FEW = "127.0.0.9"  # an address that may have three connections
_MANY = 5_000


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    names = ("CLIENT", "CAPPED", "RATED", "REPLICATION", "CONTROL")
    overrides = {
        **QUICK,
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in names),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
        "listener.name.capped.max.connections": str(_CAP),
        "listener.name.rated.max.connection.creation.rate": str(_RATE),
        "max.connections.per.ip.overrides": f"{_FEW}:3",
        "socket.listen.backlog.size": "1024",
        "replica.high.watermark.checkpoint.interval.ms": "500",
    }
    with ProcessCluster(tmp_path_factory.mktemp("limited"), 1, overrides=overrides) as cluster:
        yield cluster


def _address(cluster: ProcessCluster, listener: str) -> str:
    return cluster.brokers[1].address(listener)


def _log(cluster: ProcessCluster) -> str:
    return cluster.brokers[1].log_file.read_text()


def test_five_thousand_idle_connections(limited: ProcessCluster) -> None:
    """Idle connections cost a few kilobytes each, also those that announce 90 MB and send two bytes of it."""
    pid = process_id(limited)
    with Bystander(limited) as bystander:
        before = resident_mib(pid)
        with crowd(_address(limited, "CLIENT"), _MANY) as idle:
            assert is_served(idle[-1])
            for sock in idle:
                sock.sendall(announced(90_000_000))
            with connect(_address(limited, "CLIENT")) as client:
                assert is_served(client)
            assert resident_mib(pid) - before < 100
            asked = bystander.asked
            until(lambda: bystander.asked > asked + 50, "responses to the bystander")
        name = "signalbox_network_socketserver_connections"
        until(lambda: metric(limited, 1, name, plane="data") < 20, "their end")


@pytest.mark.spec("L5")
def test_at_the_limit_of_a_listener_new_connections_wait(limited: ProcessCluster) -> None:
    address = _address(limited, "CAPPED")
    with Bystander(limited), crowd(address, _CAP) as inside:
        assert all(is_served(sock) for sock in inside)
        with connect(address) as waiting:
            assert not is_served(waiting, 0.5), "one too many"
            assert all(is_served(sock) for sock in inside)
            inside[0].close()
            waiting.settimeout(5)
            assert waiting.recv(4), "what it asked before is answered now"


@pytest.mark.spec("L5")
def test_an_address_with_too_many_connections_is_closed_at_once(limited: ProcessCluster) -> None:
    rejected = "signalbox_network_socketserver_rejections_total"
    before = metric(limited, 1, rejected, kind="too_many_connections")
    address = _address(limited, "CLIENT")
    with Bystander(limited), crowd(address, 3, _FEW) as inside:
        assert all(is_served(sock) for sock in inside)
        for listener in ("CLIENT", "CAPPED"):  # the limit counts the connections of all client listeners together
            with connect(_address(limited, listener), _FEW) as fourth:
                assert closed_within(fourth, 5) < 2
        for listener in ("REPLICATION", "CONTROL"):
            with connect(_address(limited, listener), _FEW) as of_a_broker:
                assert is_served(of_a_broker)
        with connect(address) as other:
            assert is_served(other)
        assert all(is_served(sock) for sock in inside)
    assert metric(limited, 1, rejected, kind="too_many_connections") == before + 2


@pytest.mark.spec("L5")
def test_new_connections_are_accepted_at_the_creation_rate(limited: ProcessCluster) -> None:
    count = 3 * _RATE
    began = time.monotonic()
    with Bystander(limited), crowd(_address(limited, "RATED"), count) as connections:
        assert all(is_served(sock, 15) for sock in connections)
        assert time.monotonic() - began >= (count - _RATE) / _RATE - 0.2


def test_an_address_with_a_quota_is_kept_when_it_comes_too_fast(limited: ProcessCluster) -> None:
    """KIP-612: connections beyond the rate are accepted, not read, and closed; other addresses do not wait behind
    them."""
    hasty, rate = "127.0.0.8", 2
    _set_rate(limited, hasty, rate)
    address = _address(limited, "CLIENT")

    def is_applied() -> bool:
        with crowd(address, rate + 1, hasty) as connections:
            return not all(is_served(sock) for sock in connections)

    with Bystander(limited):
        until(is_applied, "the quota in effect")
        for listener in ("CLIENT", "CONTROL"):  # the rate counts the connections of all listeners together
            began = time.monotonic()
            with crowd(_address(limited, listener), 20, hasty) as connections:
                took = time.monotonic() - began
                with connect(address) as other:
                    assert is_served(other)
                assert sum(is_served(sock) for sock in connections) <= rate * (1 + took) + 1
    _set_rate(limited, hasty, None)
    until(lambda: not is_applied(), "the quota gone")


def _set_rate(cluster: ProcessCluster, address: str, rate: int | None) -> None:
    request = AlterClientQuotasRequest
    entity = request.EntityData(entity_type="ip", entity_name=address)
    change = request.OpData(key="connection_creation_rate", value=float(rate or 0), remove=rate is None)
    with dial(cluster) as wire:
        entries = [request.EntryData(entity=[entity], ops=[change])]
        answer = wire.ask(ApiKey.ALTER_CLIENT_QUOTAS, 1, request(entries=entries))
    assert answer.entries[0].error_code == Error.NONE


@contextmanager
def _descriptors(pid: int, limit: int) -> Iterator[None]:
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(("listener", "left"), [("CLIENT", 100), ("REPLICATION", 25), ("CONTROL", 25)])
def test_no_client_takes_the_last_descriptors(limited: ProcessCluster, listener: str, left: int) -> None:
    """Connections beyond the limit wait in the kernel. Without descriptors a broker could not write its next checkpoint
    and would lose its only log directory: here it continues and creates a topic. The limit is logged when it is reached
    and when it is over."""
    limit = 400
    pid = process_id(limited)
    lines = _log(limited).count("file descriptors are reserved")
    with ExitStack() as stack:
        _bystander, admin = stack.enter_context(Bystander(limited)), stack.enter_context(dial(limited))
        stack.enter_context(_descriptors(pid, limit))
        storm = stack.enter_context(crowd(_address(limited, listener), limit))
        assert is_served(storm[0])
        assert not is_served(storm[-1], 1)
        assert limit - left - 5 < len(os.listdir(f"/proc/{pid}/fd")) < limit - left // 2
        if listener == "CLIENT":
            for of_brokers in ("REPLICATION", "CONTROL"):
                with connect(_address(limited, of_brokers)) as broker:
                    assert is_served(broker), of_brokers
        new = CreateTopicsRequest.CreatableTopic(name=f"in-spite-of-{listener}", num_partitions=1, replication_factor=1)
        made = admin.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[new], timeout_ms=15_000))
        assert made.topics[0].error_code == Error.NONE
        _await_checkpoint(limited)
        assert _log(limited).count("file descriptors are reserved") == lines + 1
    with connect(_address(limited, listener)) as client:
        assert is_served(client)
    # While the storm ends, connections that still wait in the kernel may reach the limit once more.
    log = _log(limited)
    assert log.count("descriptors are available") == log.count("descriptors are reserved") > lines


def test_the_metrics_page_takes_no_descriptors_from_others(limited: ProcessCluster) -> None:
    """Idle connections to the page, many more than there are descriptors: the page still responds, and the broker does
    not lose its only log directory."""
    limit = 400
    pid = process_id(limited)
    page = str(limited.brokers[1].ready["metrics"]).removeprefix("http://").removesuffix("/metrics")
    with ExitStack() as stack:
        _bystander, admin = stack.enter_context(Bystander(limited)), stack.enter_context(dial(limited))
        stack.enter_context(_descriptors(pid, limit))
        for _ in range(2):
            stack.enter_context(crowd(page, limit))
            assert metric(limited, 1, "kafka_log_logmanager_offlinelogdirectorycount") == 0
            assert len(os.listdir(f"/proc/{pid}/fd")) < limit // 2
        new = CreateTopicsRequest.CreatableTopic(name="in-spite-of-metrics", num_partitions=1, replication_factor=1)
        made = admin.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[new], timeout_ms=15_000))
        assert made.topics[0].error_code == Error.NONE
        _await_checkpoint(limited)
    assert "Traceback" not in _log(limited)


def _await_checkpoint(cluster: ProcessCluster) -> None:
    """Waits until the next checkpoint is written."""
    file = cluster.brokers[1].folder / "data" / "replication-offset-checkpoint"
    before = file.stat().st_mtime_ns
    until(lambda: file.stat().st_mtime_ns > before, "the next checkpoint")


@pytest.mark.parametrize(
    ("api_key", "version", "body"), [(ApiKey.API_VERSIONS, 3, API_VERSIONS), (ApiKey.METADATA, 12, METADATA)]
)
def test_a_flood_of_requests_does_not_delay_other_clients(
    limited: ProcessCluster, api_key: ApiKey, version: int, body: bytes
) -> None:
    """Three clients send thousands of requests at once and read the responses: neither a client nor the control plane
    waits."""
    data = flood(api_key, version, body)
    with Bystander(limited) as client, Bystander(limited, "CONTROL") as control:
        with crowd(_address(limited, "CLIENT"), 3) as flooders:
            readers = [drained(sock) for sock in flooders]
            before = (client.asked, control.asked)
            for sock in flooders:
                sock.sendall(data)
            for sock in flooders:
                sock.shutdown(1)
            for reader in readers:
                reader.join(60)
        served = (client.asked - before[0], control.asked - before[1])
        assert min(served) > 20, "responses to the others while the flood lasted"


def test_a_storm_of_garbage(limited: ProcessCluster) -> None:
    chance = random.Random("garbage")
    counted = "signalbox_network_socketserver_rejections_total"
    rejected = metric(limited, 1, counted)
    with Bystander(limited):
        for _ in range(300):
            with connect(_address(limited, "CLIENT")) as sock:
                sock.sendall(chance.randbytes(chance.randrange(1, 2_000)))
        until(lambda: metric(limited, 1, counted) > rejected + 100, "their rejections")
    assert limited.brokers[1].running
