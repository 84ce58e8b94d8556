"""Replicas moved between the log directories of their brokers by kafka-reassign-partitions, under load (KIP-113)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import QUICK
from tests.system.console_tools import tool
from tests.system.provision import command, java_class
from tests.waiting import until

NEEDS = (partial(command, "javac"), partial(java_class, "Tools.java", "tools"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
TOPIC = "moved"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ProcessCluster]:
    """Three brokers with two log directories each."""
    per_broker = {node_id: {"log.dirs": ",".join(disks(tmp_path, node_id))} for node_id in (1, 2, 3)}
    with ProcessCluster(tmp_path, 3, overrides=QUICK, per_broker=per_broker) as running:
        yield running


def disks(folder: Path, node_id: int) -> list[str]:
    return [str(folder / f"broker-{node_id}" / name) for name in ("first", "second")]


def holders(at: list[str], partition: str) -> dict[int, str]:
    """The directory in which each broker has a replica; future replicas do not count."""
    printed = tool("kafka-log-dirs", *at, "--describe", "--topic-list", TOPIC).splitlines()
    found = json.loads(next(line for line in printed if line.startswith("{")))
    return {
        broker["broker"]: directory["logDir"]
        for broker in found["brokers"]
        for directory in broker["logDirs"]
        if any(each["partition"] == partition and not each["isFuture"] for each in directory["partitions"])
    }


class Load:
    """A producer that sends until the end of the block; every record must be acknowledged."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 2})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.acknowledged = 0
        self.failures: list[str] = []

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            for _ in range(20):
                self._producer.produce(TOPIC, b"x" * 1_000, partition=0, on_delivery=self._done)
            self._producer.poll(0.01)
        self._producer.flush(30)

    def _done(self, error: object, message: object) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self.failures.append(str(error))


def read_whole(bootstrap: str) -> list[int]:
    """The offsets of partition 0, from the first to the current last one."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "enable.auto.commit": False})
    partition = TopicPartition(TOPIC, 0, 0)
    _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=20)
    consumer.assign([partition])
    offsets: list[int] = []
    while len(offsets) < end:
        found = consumer.consume(1_000, timeout=20)
        assert found, f"{len(offsets)} of {end}"
        offsets += [message.offset() or 0 for message in found]
    consumer.close()
    return offsets


@pytest.mark.spec("D3")
def test_replicas_move_between_disks_under_load_and_to_a_named_one(cluster: ProcessCluster, tmp_path: Path) -> None:
    bootstrap = cluster.bootstrap()
    at, file = ["--bootstrap-server", bootstrap], tmp_path / "moves.json"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    new = NewTopic(TOPIC, 1, replica_assignment=[[1, 2]])
    admin.create_topics([new], operation_timeout=20)[TOPIC].result(30)

    def reassign(**places: str) -> None:
        """Moves the replicas to these brokers and directories and removes all others; returns when the tool reports
        completion."""
        brokers = [int(each.removeprefix("broker")) for each in places]
        row = {"topic": TOPIC, "partition": 0, "replicas": brokers, "log_dirs": list(places.values())}
        file.write_text(json.dumps({"version": 1, "partitions": [row]}))
        executed = tool("kafka-reassign-partitions", *at, "--execute", "--reassignment-json-file", str(file))
        assert "Successfully started" in executed
        verify = ("kafka-reassign-partitions", *at, "--verify", "--reassignment-json-file", str(file))
        done = f"Reassignment of partition {TOPIC}-0 is completed."
        moved = [f"Reassignment of replica {TOPIC}-0-{each} completed successfully." for each in brokers]
        until(lambda: (out := tool(*verify)) and all(each in out for each in [done, *moved]), "the moves")

    with Load(bootstrap) as load:
        until(lambda: load.acknowledged > 2_000, "load")
        before = until(lambda: holders(at, f"{TOPIC}-0"), "replicas")
        other = {each: next(disk for disk in disks(tmp_path, each) if disk != before[each]) for each in (1, 2)}
        reassign(broker1=other[1], broker2=other[2])
        assert holders(at, f"{TOPIC}-0") == other
        third = disks(tmp_path, 3)[1]
        reassign(broker1=before[1], broker3=third)
        assert holders(at, f"{TOPIC}-0") == {1: before[1], 3: third}
        at_least = load.acknowledged + 500
        until(lambda: load.acknowledged >= at_least, "more load")
    assert load.failures == []
    assert read_whole(bootstrap) == list(range(load.acknowledged))
    cluster.kill(1)
    cluster.start_broker(1)
    until(lambda: holders(at, f"{TOPIC}-0") == {1: before[1], 3: third}, "broker 1 with its replica")
    assert read_whole(cluster.bootstrap()) == list(range(load.acknowledged))
