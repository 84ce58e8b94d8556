"""Brokers on ZooKeeper are killed: other brokers take over long before their sessions expire (18 s, Kafka's
default)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tools.chaos.state_reader import StateReader, state_in_zookeeper

from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ensemble
from tests.system import provision
from tests.system.clusters import QUICK
from tests.system.zookeeper.test_zookeeper_cluster import create
from tests.waiting import until

pytestmark = [pytest.mark.timeout(240), pytest.mark.slow, pytest.mark.spec("M3")]

TOPIC = "led-by-all"
SESSION_S = 18.0
WITHIN_S = 12.0


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ProcessCluster, StateReader]]:
    """Three brokers, each of which leads one partition of the topic."""
    provision.zookeeper()
    with ensemble(tmp_path_factory.mktemp("zookeeper")) as (server,):
        connect = f"{server.address}/failover"
        overrides = {
            **QUICK,
            "signalbox.metadata.store": f"zookeeper:{connect}",
            "leader.imbalance.check.interval.seconds": "2",
        }
        folder = tmp_path_factory.mktemp("cluster")
        with ProcessCluster(folder, 3, overrides=overrides) as cluster, state_in_zookeeper(connect) as state:
            create(AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2}), TOPIC)
            yield cluster, state


@pytest.mark.parametrize("role", ["controller", "other"])
def test_a_killed_broker_is_followed_at_once(running: tuple[ProcessCluster, StateReader], role: str) -> None:
    """Failover is complete long before the broker's session expires."""
    assert follow(*running, role) < WITHIN_S


def follow(cluster: ProcessCluster, state: StateReader, role: str) -> float:
    """Seconds from the kill until a topic was created and every partition had acknowledged a record."""
    until(lambda: set(state.leaders(TOPIC).values()) == {1, 2, 3}, "a partition for everybody")
    until(lambda: not state.what_is_missing(3), "a healthy cluster")
    controller, epoch = state.controller_id(), state.controller_epoch()
    victim = controller if role == "controller" else next(each for each in cluster.brokers if each != controller)
    alive = ",".join(each.address("CLIENT") for each in cluster.brokers.values() if each.node_id != victim)
    settings: dict[str, Any] = {"bootstrap.servers": alive, "log_level": 2}
    producer, admin = Producer({**settings, "acks": "all", "linger.ms": 0}), AdminClient(settings)
    for partition in range(3):
        producer.produce(TOPIC, b"before", partition=partition)
    assert producer.flush(20) == 0

    killed_at = time.monotonic()
    cluster.kill(victim)
    for partition in range(3):
        producer.produce(TOPIC, b"after", partition=partition)
    until(partial(created, admin, f"after-{epoch}-{victim}"), "a topic", timeout_s=SESSION_S * 2)
    created_s = time.monotonic() - killed_at
    assert producer.flush(SESSION_S * 2) == 0
    took_s = time.monotonic() - killed_at

    print(f"{role}: created after {created_s:.2f} s, produced after {took_s:.2f} s")
    assert state.controller_epoch() == epoch + (1 if role == "controller" else 0)
    cluster.start_broker(victim)
    return took_s


def created(admin: AdminClient, topic: str) -> bool:
    try:
        admin.create_topics([NewTopic(topic, 2, 2)], operation_timeout=2, request_timeout=2)[topic].result(5)
    except KafkaException:
        return topic in admin.list_topics(timeout=5).topics
    return True
