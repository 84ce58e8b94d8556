"""ISRs in a real ZooKeeper as Kafka writes them below inter.broker.protocol.version 2.7: leaders store them and notify
the controller in `/isr_change_notification`. Here another program acts as such a leader beside a Signalbox cluster
(SPEC M2)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from kazoo.client import KazooClient

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ensemble
from tests.system import provision
from tests.system.clusters import BROKERS, QUICK, controller_id
from tests.system.test_zookeeper_cluster import create
from tests.system.wire import dial
from tests.waiting import until

pytestmark = [pytest.mark.timeout(240), pytest.mark.spec("M2")]

NOTIFICATIONS = "/isr_change_notification"
TOPIC = "led-elsewhere"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[ProcessCluster, KazooClient]]:
    provision.zookeeper()
    with ensemble(tmp_path / "zookeeper") as (server,):
        connect = f"{server.address}/isr"
        overrides = {**QUICK, "signalbox.metadata.store": f"zookeeper:{connect}"}
        with ProcessCluster(tmp_path / "cluster", len(BROKERS), overrides=overrides) as cluster:
            create(AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2}), TOPIC)
            zookeeper = KazooClient(connect)
            zookeeper.start()
            yield cluster, zookeeper
            zookeeper.stop()
            zookeeper.close()


def state_path(partition: int) -> str:
    return f"/brokers/topics/{TOPIC}/partitions/{partition}/state"


def stored(zookeeper: KazooClient, partition: int) -> tuple[dict[str, Any], int]:
    """A partition's state and its version."""
    data, stat = zookeeper.get(state_path(partition))
    return json.loads(data), stat.version


def write_isr(zookeeper: KazooClient, partition: int, isr: list[int]) -> None:
    """As Kafka's ReplicationUtils.updateLeaderAndIsr does."""
    state, version = stored(zookeeper, partition)
    zookeeper.set(state_path(partition), json.dumps({**state, "isr": isr}).encode(), version)


def notify(zookeeper: KazooClient, *named: tuple[str, int]) -> str:
    """As Kafka's KafkaZkClient.propagateIsrChanges does; the notification's path."""
    partitions = [{"topic": topic, "partition": partition} for topic, partition in named]
    payload = json.dumps({"version": 1, "partitions": partitions}).encode()
    path: str = zookeeper.create(f"{NOTIFICATIONS}/isr_change_", payload, sequence=True)
    return path


def shown(cluster: ProcessCluster, partition: int, topic: str = TOPIC) -> dict[int, tuple[int, ...]]:
    """The ISR in the Metadata of each broker that runs and is not paused."""
    found = {}
    for node_id, broker in cluster.brokers.items():
        if not broker.running or broker.stopped_by_signal:
            continue
        with dial(cluster, node_id) as wire:
            topics = [MetadataRequest.MetadataRequestTopic(name=topic)]
            answer = wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=topics))
        for each in answer.topics[0].partitions:
            if each.partition_index == partition:
                found[node_id] = tuple(sorted(each.isr_nodes))
    return found


def term(zookeeper: KazooClient) -> tuple[bytes, bytes]:
    """The contents of /controller and /controller_epoch: they change with each election."""
    return zookeeper.get("/controller")[0], zookeeper.get("/controller_epoch")[0]


def log_of(cluster: ProcessCluster, node_id: int) -> str:
    return cluster.brokers[node_id].log_file.read_text()


def test_what_a_leader_of_kafkas_wrote_shows_on_every_broker(running: tuple[ProcessCluster, KazooClient]) -> None:
    cluster, zookeeper = running
    before = term(zookeeper)
    leader = stored(zookeeper, 0)[0]["leader"]
    isr = tuple(sorted((leader, leader % len(BROKERS) + 1)))
    write_isr(zookeeper, 0, [*isr])
    write_isr(zookeeper, 1, [stored(zookeeper, 1)[0]["leader"]])
    # The notification also names a deleted topic and one that cannot exist; the third partition is unchanged.
    notify(zookeeper, (TOPIC, 0), ("gone", 0), ("../../controller", 7), (TOPIC, 2))
    until(lambda: shown(cluster, 0) == dict.fromkeys(BROKERS, isr), "the ISR on all brokers")
    until(lambda: zookeeper.get_children(NOTIFICATIONS) == [], "no notification any more")
    assert shown(cluster, 1) == dict.fromkeys(BROKERS, BROKERS), "without a notification"
    assert shown(cluster, 2) == dict.fromkeys(BROKERS, BROKERS)
    assert term(zookeeper) == before
    state, version = stored(zookeeper, 0)
    assert (state["leader"], state["leader_epoch"], version) == (leader, 0, 1), "the controller wrote nothing"


def test_a_notification_that_is_none_is_named_and_removed(running: tuple[ProcessCluster, KazooClient]) -> None:
    cluster, zookeeper = running
    before = term(zookeeper)
    bad = [
        zookeeper.create(f"{NOTIFICATIONS}/isr_change_", data, sequence=True)
        for data in (b"", b"{", b'{"version":1}', b'{"version":1,"partitions":[{"topic":1,"partition":0}]}')
    ]
    until(lambda: zookeeper.get_children(NOTIFICATIONS) == [], "no notification any more")
    log = log_of(cluster, controller_id(cluster))
    for path in bad:
        assert f"{path} " in log
    assert "Traceback" not in log
    leader = stored(zookeeper, 0)[0]["leader"]
    write_isr(zookeeper, 0, [leader])
    notify(zookeeper, (TOPIC, 0))
    until(lambda: shown(cluster, 0) == dict.fromkeys(BROKERS, (leader,)), "a good one after it is read")
    assert term(zookeeper) == before


@pytest.mark.spec("M3")
def test_what_is_left_over_is_read_and_removed_at_an_election(running: tuple[ProcessCluster, KazooClient]) -> None:
    """The controller is paused, so that no node reads the notifications; when it dies, its successor elects leaders
    from the states that leaders wrote."""
    cluster, zookeeper = running
    controller = controller_id(cluster)
    epoch = int(term(zookeeper)[1])
    led = next(number for number in range(3) if stored(zookeeper, number)[0]["leader"] == controller)
    other, last = (each for each in BROKERS if each != controller)
    cluster.pause(controller)
    write_isr(zookeeper, led, [controller, last])
    notify(zookeeper, (TOPIC, led))
    zookeeper.create(f"{NOTIFICATIONS}/isr_change_", b"?", sequence=True)
    assert len(zookeeper.get_children(NOTIFICATIONS)) == 2
    cluster.kill(controller)
    until(lambda: stored(zookeeper, led)[0]["leader"] == last, f"broker {last} leads, {other} was not in sync")
    until(lambda: zookeeper.get_children(NOTIFICATIONS) == [], "no notification any more")
    assert int(term(zookeeper)[1]) == epoch + 1
    until(lambda: set(shown(cluster, led)) == {other, last}, "the others know")
    cluster.start_broker(controller)
    until(lambda: shown(cluster, led) == dict.fromkeys(BROKERS, BROKERS), "a healthy cluster")


@pytest.mark.spec("M3")
def test_a_controller_never_overwrites_the_state_of_a_leader(running: tuple[ProcessCluster, KazooClient]) -> None:
    """A leader changes its ISR and dies before it notifies the controller: the next leader is from that ISR, in the
    same controller epoch."""
    cluster, zookeeper = running
    before, controller = term(zookeeper), controller_id(cluster)
    led = next(number for number in range(3) if stored(zookeeper, number)[0]["leader"] != controller)
    leader = stored(zookeeper, led)[0]["leader"]
    last = next(each for each in BROKERS if each not in (leader, controller))
    preferred = next(each for each in _replicas(zookeeper, led) if each != leader)
    next_leader = last if preferred == controller else controller
    write_isr(zookeeper, led, [leader, next_leader])
    cluster.kill(leader)
    until(lambda: stored(zookeeper, led)[0]["leader"] == next_leader, f"broker {next_leader} leads")
    assert term(zookeeper) == before
    cluster.start_broker(leader)
    until(lambda: shown(cluster, led) == dict.fromkeys(BROKERS, BROKERS), "a healthy cluster")
    assert "Traceback" not in log_of(cluster, controller)


def _replicas(zookeeper: KazooClient, partition: int) -> list[int]:
    replicas: list[int] = json.loads(zookeeper.get(f"/brokers/topics/{TOPIC}")[0])["partitions"][str(partition)]
    return replicas
