"""The metadata store fails under a running cluster: slow, unavailable for a time, full, corrupt. No acknowledged record
or change is lost, and no second controller is elected because of it."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tools.chaos.state_reader import state_in_file, state_in_zookeeper

from signalbox.metadata.layout import TOPICS, broker_id_path
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.free_ports import consecutive_ports
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ZooKeeperServer, ensemble
from tests.small_disk import SmallDisk, small_disk
from tests.system import provision
from tests.system.clusters import QUICK
from tests.system.loaded import SESSION_S, TOPIC, LoadedCluster
from tests.system.wire import dial
from tests.system.zookeeper.test_zookeeper_cluster import create
from tests.waiting import until

pytestmark = [pytest.mark.timeout(240), pytest.mark.slow, pytest.mark.spec("M1", "M3")]

_LIMIT_BYTES = 600_000
_LARGE = 4_000  # partitions: their entries exceed what the limit lets the store's log grow by


def admin(cluster: ProcessCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2})


@contextmanager
def on_zookeeper(folder: Path, session_s: float) -> Iterator[tuple[ZooKeeperServer, LoadedCluster]]:
    """A cluster with one ZooKeeper server, and a topic to load."""
    provision.zookeeper()
    with ensemble(folder / "ensemble") as (server,):
        connect = f"{server.address}/failures"
        session = {"zookeeper.session.timeout.ms": str(int(session_s * 1000))}
        settings = {**QUICK, **session, "signalbox.metadata.store": f"zookeeper:{connect}"}
        cluster = ProcessCluster(folder / "cluster", 3, first_port=consecutive_ports(9, Random()), overrides=settings)
        with cluster, state_in_zookeeper(connect) as state:
            create(admin(cluster), TOPIC)
            yield server, LoadedCluster(cluster, state)


def test_a_slow_store_and_one_that_restarts_cost_no_session(tmp_path: Path) -> None:
    """Failures that are shorter than the sessions: changes wait and are executed once; no controller epoch and no
    registration ends."""
    with on_zookeeper(tmp_path, session_s=20) as (server, loaded):
        loaded.wait_until_healthy()
        before = {node_id: registration(loaded, node_id) for node_id in loaded.cluster.brokers}
        epoch, asking = loaded.state.controller_epoch(), admin(loaded.cluster)
        with loaded.load():
            for number in range(3):
                server.pause()
                waiting = asking.create_topics([NewTopic(f"slow-{number}", 3, 3)], operation_timeout=20)
                loaded.wait_for_more(300)
                server.resume()
                waiting[f"slow-{number}"].result(30)
            server.kill()
            loaded.wait_for_more(500)
            server.start()
            server.wait()
            create(asking, "after-the-restart")
            loaded.wait_until_healthy()
        assert loaded.state.controller_epoch() == epoch
        assert {node_id: registration(loaded, node_id) for node_id in loaded.cluster.brokers} == before
        loaded.check_records()


def registration(loaded: LoadedCluster, node_id: int) -> int:
    """The broker epoch; -1 if the broker is not registered."""
    entry = loaded.state.entry(broker_id_path(node_id))
    return -1 if entry is None else entry.creation_id


def test_a_broker_paused_longer_than_its_session_registers_again(tmp_path: Path) -> None:
    """No connection is closed: the broker's session expires, other brokers lead, and when it resumes it registers
    again."""
    with on_zookeeper(tmp_path, SESSION_S) as (_, loaded):
        loaded.wait_until_healthy()
        controller = loaded.controller()
        sleeper = next(node_id for node_id in loaded.cluster.brokers if node_id != controller)
        with loaded.load():
            before = registration(loaded, sleeper)
            loaded.cluster.pause(sleeper)
            until(lambda: registration(loaded, sleeper) == -1, "the end of its session")
            until(lambda: sleeper not in loaded.state.leaders(TOPIC).values(), "other leaders")
            loaded.wait_for_more(500)
            loaded.cluster.resume(sleeper)
            loaded.wait_until_healthy()
            assert registration(loaded, sleeper) > before
        loaded.check_records()


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[ProcessCluster]:
    with ProcessCluster(tmp_path, 3, overrides={**QUICK, "signalbox.audit.enable": "false"}) as cluster:
        yield cluster


@contextmanager
def on_a_small_disk(folder: Path) -> Iterator[tuple[SmallDisk, LoadedCluster]]:
    """A cluster with only its metadata on a disk of 8 MB, and a topic to load."""
    with small_disk(folder, 8 << 20) as disk:
        file = disk.path / "metadata.db"
        settings = {**QUICK, "signalbox.audit.enable": "false", "signalbox.metadata.store": f"sqlite:{file}"}
        cluster = ProcessCluster(folder, 3, first_port=consecutive_ports(9, Random()), overrides=settings)
        with cluster, state_in_file(file) as state:
            create(admin(cluster), TOPIC)
            yield disk, LoadedCluster(cluster, state)


def test_a_full_disk_rejects_at_once_and_for_certain_and_ends_no_controller_epoch(tmp_path: Path) -> None:
    """Through every broker, under load. Acknowledged changes are stored, rejected ones are not; no controller is
    elected because of it. A leader that dies meanwhile is replaced when there is space again, and no other broker is
    restarted."""
    with on_a_small_disk(tmp_path) as (disk, loaded):
        cluster, state = loaded.cluster, loaded.state
        loaded.wait_until_healthy()
        with loaded.load():
            before = standing(loaded)
            disk.fill()
            made, rejected = {TOPIC}, dict[str, tuple[Error, str]]()
            for number in range(120):
                name, began = f"topic-{number}", time.monotonic()
                error, message = creation(cluster, number % 3 + 1, name, partitions=20)
                assert time.monotonic() - began < 30.0, "answered at once"
                if error is Error.NONE:
                    made.add(name)
                else:
                    rejected[name] = error, message
            assert len(rejected) >= 60, "no room for most of them"
            assert {error for error, _ in rejected.values()} == {Error.KAFKA_STORAGE_ERROR}
            messages = {message for _, message in rejected.values()}
            assert all("metadata.db is full" in message and "Make room" in message for message in messages), messages
            assert set(state.names(TOPICS)) == made
            loaded.wait_for_more(500)
            assert standing(loaded) == before

            controller = loaded.controller()
            victim, survivor = (node_id for node_id in cluster.brokers if node_id != controller)
            cluster.kill(victim)
            assert creation(cluster, survivor, "large", partitions=2_000, replicas=1)[0] is Error.KAFKA_STORAGE_ERROR
            disk.make_room()
            assert creation(cluster, survivor, "after", partitions=3, replicas=2)[0] is Error.NONE
            until(lambda: victim not in leaders(loaded, made), "new leaders")
            until(lambda: made | {"after"} <= topics_on(cluster, survivor), "the survivor to know")
            cluster.start_broker(victim)
            loaded.wait_until_healthy()
            assert standing(loaded)[:2] == before[:2]
            assert set(state.names(TOPICS)) == made | {"after"}
        lines = [line for each in cluster.brokers.values() for line in each.log_file.read_text().splitlines()]
        assert len([line for line in lines if "metadata changes are rejected" in line]) == 1, "not once a try"
        loaded.check_records(foreseen="metadata changes are rejected")


def standing(loaded: LoadedCluster) -> tuple[int, int, dict[int, int]]:
    """The controller, its epoch, and all broker epochs."""
    registered = {node_id: registration(loaded, node_id) for node_id in loaded.cluster.brokers}
    return loaded.state.controller_id(), loaded.state.controller_epoch(), registered


def leaders(loaded: LoadedCluster, topics: set[str]) -> set[int]:
    return {leader for topic in topics for leader in loaded.state.leaders(topic).values()}


def creation(
    cluster: ProcessCluster, node_id: int, topic: str, partitions: int, replicas: int = 3
) -> tuple[Error, str]:
    """The result of CreateTopics at exactly this broker. A client would send it to the broker that Metadata names as
    the controller: that broker may be dead and still be in Metadata, because there is no space to store its removal."""
    new = CreateTopicsRequest.CreatableTopic(name=topic, num_partitions=partitions, replication_factor=replicas)
    with dial(cluster, node_id) as wire:
        answer = wire.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[new], timeout_ms=10_000))
    [created] = answer.topics
    return Error.of(created.error_code), created.error_message or ""


def topics_on(cluster: ProcessCluster, node_id: int) -> set[str]:
    """The topics in one broker's Metadata."""
    with dial(cluster, node_id) as wire:
        return {each.name for each in wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=None)).topics}


def limit_files(cluster: ProcessCluster, limit_bytes: int) -> None:
    """A write that would make a file longer than that fails, in every broker; SQLite reports an I/O error."""
    for broker in cluster.brokers.values():
        assert broker.process is not None
        hard = resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE)[1]
        resource.prlimit(broker.process.pid, resource.RLIMIT_FSIZE, (limit_bytes, hard))


def test_a_full_store_rejects_changes_and_stores_none_in_part(
    on_sqlite: ProcessCluster,
) -> None:
    asking, file = admin(on_sqlite), on_sqlite.folder / "metadata.db"
    create(asking, "before")
    limit_files(on_sqlite, _LIMIT_BYTES)
    with pytest.raises(KafkaException):
        asking.create_topics([NewTopic("large", _LARGE, 1)], operation_timeout=3, request_timeout=4)["large"].result(10)
    with state_in_file(file) as state:
        until(lambda: state.controller_id() != -1, "a controller")
        assert state.replicas("large") == {}, "all of it or nothing"
        assert set(state.replicas("before")) == {0, 1, 2}
    until(partial(made, asking, "small"), "a topic that fits")
    limit_files(on_sqlite, resource.RLIM_INFINITY)
    until(partial(made, asking, "large-again"), "free space again")
    until(partial(knows, asking, {"before", "small", "large-again"}), "all to know")
    assert all(broker.running for broker in on_sqlite.brokers.values())


def made(asking: AdminClient, topic: str) -> bool:
    try:
        asking.create_topics([NewTopic(topic, 3, 3)], operation_timeout=3, request_timeout=4)[topic].result(10)
        return True
    except KafkaException:
        return knows(asking, {topic})


def knows(asking: AdminClient, topics: set[str]) -> bool:
    """False also if the broker has not responded to an earlier request yet."""
    try:
        return topics <= set(asking.list_topics(timeout=10).topics)
    except KafkaException:
        return False


@pytest.mark.parametrize("how", ["torn", "emptied", "missing beside its log"])
def test_a_corrupt_file_is_rejected_and_left_as_it_is(on_sqlite: ProcessCluster, how: str) -> None:
    """A new, empty store is never created in its place: a cluster without its topics would delete their data."""
    create(admin(on_sqlite), "precious")
    for node_id in on_sqlite.brokers:
        on_sqlite.kill(node_id)
    file = on_sqlite.folder / "metadata.db"
    if how == "torn":
        (on_sqlite.folder / "metadata.db-wal").unlink()
        with file.open("rb+") as opened:
            opened.truncate(file.stat().st_size // 2)
    elif how == "emptied":
        file.write_bytes(b"")
    else:
        file.unlink()
    before = contents(on_sqlite.folder)
    command = [sys.executable, "-m", "signalbox.wiring.serve", str(on_sqlite.brokers[1].properties_file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "signalbox.metadata.store" in ended.stderr
    assert {"torn": "torn", "emptied": "empty", "missing beside its log": "missing"}[how] in ended.stderr
    assert contents(on_sqlite.folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    """The store's file and its log; the third file (-shm) is SQLite's shared memory and is created again."""
    found = (folder / name for name in ("metadata.db", "metadata.db-wal"))
    return {path.name: path.read_bytes() for path in found if path.exists()}
