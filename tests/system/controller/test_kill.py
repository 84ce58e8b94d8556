"""Brokers are killed, paused and shut down under load: no acknowledged record is lost, and there are never two
controllers that write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.system.clusters import admin_without, controller_id, metric
from tests.system.loaded import SESSION_S, TOPIC, LoadedCluster, loaded_cluster
from tests.waiting import until

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def loaded(tmp_path: Path) -> Iterator[LoadedCluster]:
    with loaded_cluster(tmp_path / "cluster") as running:
        yield running


def chosen(loaded: LoadedCluster, role: str) -> int:
    """The broker for the fault: the leader of partition 0, the controller, or one that is neither."""
    leader, controller = loaded.leader(), loaded.controller()
    others = [node_id for node_id in loaded.cluster.brokers if node_id not in (leader, controller)]
    return {"leader": leader, "controller": controller, "follower": others[0]}[role]


def knows(admin: AdminClient, topics: set[str]) -> bool:
    return topics <= set(admin.list_topics(timeout=10).topics)


@pytest.mark.slow
@pytest.mark.spec("F1", "M3", "D3")
@pytest.mark.parametrize("role", ["leader", "controller", "follower"])
def test_a_killed_broker_loses_nothing(loaded: LoadedCluster, role: str) -> None:
    with loaded.load():
        victim = chosen(loaded, role)
        loaded.cluster.kill(victim)
        until(lambda: victim not in loaded.state.leaders(TOPIC).values(), "new leaders")
        until(lambda: loaded.state.controller_id() not in (victim, -1), "a live controller")
        loaded.wait_for_more(500)
        loaded.cluster.start_broker(victim)
        loaded.wait_until_healthy()
    loaded.check_records()


@pytest.mark.slow
@pytest.mark.spec("C3")
def test_a_rolling_restart_fails_nothing(loaded: LoadedCluster) -> None:
    """One broker after the other does a controlled shutdown and starts again; the client only retries."""
    with loaded.load():
        for node_id in loaded.cluster.brokers:
            assert loaded.cluster.stop_broker(node_id) == 0
            loaded.wait_for_more(200)
            loaded.cluster.start_broker(node_id)
            loaded.wait_until_healthy()
        assert loaded.longest_silence_s() < 3
    for broker in loaded.cluster.brokers.values():
        log = broker.log_file.read_text()
        assert "leadership has moved away" in log
        assert "unclean shutdown" not in log
    loaded.check_records()


@pytest.mark.slow
@pytest.mark.spec("F1", "M3")
def test_a_controller_paused_longer_than_its_session_is_fenced(loaded: LoadedCluster) -> None:
    cluster = loaded.cluster
    with loaded.load():
        old = loaded.controller()
        cluster.pause(old)
        until(lambda: loaded.state.controller_id() not in (old, -1), "a successor", timeout_s=SESSION_S * 5)
        admin = admin_without(cluster, old)
        admin.create_topics([NewTopic("meanwhile", 2, 2)], operation_timeout=20)["meanwhile"].result(30)
        loaded.wait_for_more(300)
        if cluster.brokers[old].running:
            cluster.resume(old)
        else:  # paused inside a transaction of the store: the other brokers may kill it
            cluster.start_broker(old)
        loaded.wait_until_healthy()
        active = "kafka_controller_kafkacontroller_activecontrollercount"
        until(lambda: sum(metric(cluster, node_id, active) for node_id in cluster.brokers) == 1, "one controller")
        assert controller_id(cluster) == loaded.state.controller_id() != old
        through_old = AdminClient({"bootstrap.servers": cluster.brokers[old].address("CLIENT"), "log_level": 2})
        through_old.create_topics([NewTopic("afterwards", 1, 3)], operation_timeout=20)["afterwards"].result(30)
        for node_id in cluster.brokers:
            own = AdminClient({"bootstrap.servers": cluster.brokers[node_id].address("CLIENT"), "log_level": 2})
            until(partial(knows, own, {"meanwhile", "afterwards"}), "both topics")
    loaded.check_records()


@pytest.mark.spec("D3")
@pytest.mark.slow
def test_a_torn_tail_is_cut_off_at_the_next_start(loaded: LoadedCluster) -> None:
    """The state after a power failure: half a batch at the end of a segment, a missing index."""
    with loaded.load():
        victim = chosen(loaded, "follower")
        loaded.wait_for_more(1_000)
        loaded.cluster.kill(victim)
        folder = loaded.cluster.brokers[victim].folder / "data"
        for partition in range(3):
            segment = max((folder / f"{TOPIC}-{partition}").glob("*.log"))
            with segment.open("rb+") as file:
                file.seek(0, os.SEEK_END)
                end = file.tell()
                if partition == 0:
                    file.truncate(end - 7)
                else:
                    file.write(b"\0" * 8 + b"\0\0\x10\0" + b"torn" * 9)
        for index in (folder / f"{TOPIC}-2").glob("*index"):
            index.unlink()
        loaded.cluster.start_broker(victim)
        loaded.wait_until_healthy()
    loaded.check_records()


@pytest.mark.spec("D3")
@pytest.mark.slow
def test_alone_a_leader_rejects_acks_all_but_not_acks_1(loaded: LoadedCluster) -> None:
    loaded.wait_until_healthy()
    leader = loaded.leader()
    for node_id in loaded.cluster.brokers:
        if node_id != leader:
            loaded.cluster.kill(node_id)
    bootstrap = loaded.cluster.brokers[leader].address("CLIENT")
    settings = {"bootstrap.servers": bootstrap, "message.timeout.ms": 3_000, "log_level": 2}

    def delivery_error(acks: str) -> str:
        errors: list[str] = []
        producer = Producer({**settings, "acks": acks})
        producer.produce(TOPIC, b"0 0 x", partition=0, on_delivery=lambda error, _: errors.append(str(error)))
        assert producer.flush(10) == 0
        return errors[0]

    until(lambda: delivery_error("all") != "None", "a rejection of acks=all")
    until(lambda: loaded.state.controller_id() == leader, "the only broker as the controller")
    assert delivery_error("1") == "None"
