"""A cluster inside this process: real sockets, real files, no resources left after its stop."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from signalbox.testing.cluster import Cluster


def produce(cluster: Cluster, topic: str, value: bytes) -> None:
    """Produces with acks=all and waits for the acknowledgement."""
    errors: list[object] = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", "enable.idempotence": True})
    producer.produce(topic, value, on_delivery=lambda error, message: errors.append(error))
    assert producer.flush(20) == 0
    assert errors == [None]


def read_one(cluster: Cluster, topic: str) -> bytes | None:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g"})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        message = consumer.poll(20)
        assert message is not None
        value = message.value()
        assert value is None or isinstance(value, bytes)
        return value
    finally:
        consumer.close()


def test_acks_all_on_three_brokers_and_no_thread_left_afterwards() -> None:
    before = set(threading.enumerate())
    with Cluster() as cluster:
        assert len(cluster.bootstrap_servers.split(",")) == 3
        produce(cluster, "t", b"hello")
        assert read_one(cluster, "t") == b"hello"
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
        assert not thread.is_alive(), thread


def test_a_broker_may_go_and_come_back_at_its_address() -> None:
    with Cluster() as cluster:
        produce(cluster, "t", b"before")
        addresses = cluster.bootstrap_servers
        gone = cluster.nodes[3].describe()["listeners"]
        cluster.stop_broker(3)
        assert 3 not in cluster.nodes
        cluster.start_broker(3)
        assert cluster.nodes[3].describe()["listeners"] == gone
        assert sorted(cluster.bootstrap_servers.split(",")) == sorted(addresses.split(","))
        produce(cluster, "t", b"after")


def test_a_folder_keeps_what_was_there(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "when-missing"
    with Cluster(brokers=1, folder=folder) as cluster:
        produce(cluster, "kept", b"hello")
        cluster_id = cluster.nodes[1].components.cluster_id
    with Cluster(brokers=1, folder=folder) as cluster:
        assert cluster.nodes[1].components.cluster_id == cluster_id
        assert read_one(cluster, "kept") == b"hello"


def test_without_a_folder_nothing_is_left() -> None:
    with Cluster(brokers=1) as cluster:
        assert cluster._temporary is not None
        folder = Path(cluster._temporary.name)
        assert (folder / "metadata.db").exists()
    assert not folder.exists()


@pytest.mark.parametrize(
    ("overrides", "text"),
    [({"num.partitions": "many"}, "'many' is not a whole number"), ({"authorizer.class.name": "no.Such"}, "no.Such")],
)
def test_a_start_that_is_rejected_leaves_nothing(overrides: dict[str, str], text: str) -> None:
    before = set(threading.enumerate())
    cluster = Cluster(brokers=2, overrides=overrides)
    with pytest.raises((ValueError, RuntimeError), match=text):
        cluster.start()
    assert cluster.nodes == {}
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
        assert not thread.is_alive(), thread


def test_work_needs_a_running_cluster() -> None:
    with pytest.raises(RuntimeError, match="not started"):
        Cluster().run(asyncio.sleep(0))
    Cluster().stop()
