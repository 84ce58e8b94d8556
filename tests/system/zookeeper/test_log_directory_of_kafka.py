"""One log directory that Apache Kafka 3.9 and Signalbox use alternately, over one ZooKeeper (SPEC D2):
batches of every codec, committed and aborted transactions, a compacted topic, offsets of a group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from signalbox.testing.process_cluster import ProcessCluster
from signalbox.testing.zookeeper import ensemble
from tests.system import provision
from tests.system.zookeeper.test_zookeeper_kafka_broker import kafka_broker, knows
from tests.waiting import until

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow, pytest.mark.spec("D2"), pytest.mark.spec("D5")]

_NODE_ID = 1
_MIXED, _COMPACTED, _GROUP, _TRANSACTIONAL_ID = "mixed", "compacted", "readers", "writer"
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_READY_S = 90.0
_SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "200",
    "log.segment.delete.delay.ms": "0",
    "log.initial.task.delay.ms": "500",
}
_COMPACTS = {
    "cleanup.policy": "compact",
    "segment.bytes": "1048576",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "600000",
}
Rows = list[tuple[int, int, str]]  # partition, offset, key


@contextmanager
def kafka(folder: Path, connect: str) -> Iterator[str]:
    """Apache Kafka as the cluster's only broker; `host:port` of its listener for clients."""
    with kafka_broker(folder, connect, _NODE_ID, {**_SETTINGS, "log.dirs": str(folder / "log-dir")}) as address:
        until(lambda: knows(address) == {_NODE_ID}, "Kafka's broker", timeout_s=_READY_S)
        yield address


@contextmanager
def signalbox(folder: Path, connect: str, start: int) -> Iterator[str]:
    """Signalbox as the only broker, on the same log directory."""
    store = {"signalbox.metadata.store": f"zookeeper:{connect}", "log.dirs": str(folder / "log-dir")}
    with ProcessCluster(folder / f"signalbox-{start}", 1, overrides={**_SETTINGS, **store}) as cluster:
        yield cluster.bootstrap()


def create_topics(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    wanted = [
        NewTopic(_MIXED, 2, 1, config={"segment.bytes": "1048576"}),
        NewTopic(_COMPACTED, 1, 1, config=_COMPACTS),
    ]
    for done in admin.create_topics(wanted).values():
        done.result(60)


def write(bootstrap: str, run: str) -> None:
    """Batches of every codec, one committed and one aborted transaction, and new values for all keys of the compacted
    topic, more than a segment of them."""
    for codec in _CODECS:
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "enable.idempotence": True})
        for number in range(40):
            producer.produce(_MIXED, key=f"{run}-{codec}-{number}", value=bytes(10_000), partition=number % 2)
        assert producer.flush(60) == 0
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": _TRANSACTIONAL_ID})
    producer.init_transactions(60)
    for end in ("committed", "aborted"):
        producer.begin_transaction()
        for number in range(20):
            producer.produce(_MIXED, key=f"{run}-{end}-{number}", value=bytes(1_000), partition=number % 2)
            producer.produce(_COMPACTED, key=f"key-{number}", value=f"{run}-{end}")
        assert producer.flush(60) == 0
        if end == "committed":
            producer.commit_transaction(60)
        else:
            producer.abort_transaction(60)
    plain = Producer({"bootstrap.servers": bootstrap})
    for number in range(300):
        plain.produce(_COMPACTED, key=f"filler-{number % 10}", value=bytes(10_000))
    assert plain.flush(60) == 0


def read(bootstrap: str, topic: str, isolation: str) -> Rows:
    """All records from the beginning to the end that the isolation level shows."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "none",
        "isolation.level": isolation,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
    }
    consumer, rows = Consumer(settings), Rows()
    # A broker is ready before the controller has sent it the metadata.
    partitions = until(lambda: len(consumer.list_topics(topic, 60).topics[topic].partitions), "the topic's partitions")
    consumer.assign([TopicPartition(topic, index, 0) for index in range(partitions)])
    open_partitions = set(range(partitions))
    try:
        while open_partitions:
            message = consumer.poll(60)
            assert message is not None, "no record and no end for a minute"
            if (error := message.error()) is None:
                rows.append((message.partition() or 0, message.offset() or 0, (message.key() or b"").decode()))
            elif error.code() == KafkaError._PARTITION_EOF:
                open_partitions.discard(message.partition() or 0)
    finally:
        consumer.close()
    return sorted(rows)


def latest(bootstrap: str) -> dict[str, str]:
    """The last committed value of each key of a transaction in the compacted topic."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "none",
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
    }
    consumer, values = Consumer(settings), dict[str, str]()
    consumer.assign([TopicPartition(_COMPACTED, 0, 0)])
    try:
        while True:
            message = consumer.poll(60)
            assert message is not None, "no record and no end for a minute"
            key, value, error = message.key() or b"", message.value() or b"", message.error()
            if error is None and key.startswith(b"key-"):
                values[key.decode()] = value.decode()
            elif error is not None and error.code() == KafkaError._PARTITION_EOF:
                break
    finally:
        consumer.close()
    return values


def commit(bootstrap: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": _GROUP})
    consumer.commit(offsets=[TopicPartition(_MIXED, 0, offset)], asynchronous=False)
    consumer.close()


def committed(bootstrap: str) -> int:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": _GROUP})
    try:
        [found] = consumer.committed([TopicPartition(_MIXED, 0)], 60)
        return int(found.offset)
    except KafkaException:
        return -1  # the coordinator still loads the group
    finally:
        consumer.close()


def cleaned_to(folder: Path) -> int:
    """The offset below which the compacted topic is compacted, as its directory says."""
    path = folder / "log-dir" / "cleaner-offset-checkpoint"
    rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return next((int(row[2]) for row in rows if row[:1] == [_COMPACTED]), 0)


def test_kafka_and_signalbox_use_a_log_directory_alternately(tmp_path: Path) -> None:
    provision.zookeeper()
    seen: dict[str, Rows] = {}
    cleaned = 0
    with ensemble(tmp_path / "ensemble") as (server,):
        connect = f"{server.address}/alternate"
        for before, run in enumerate(("kafka", "signalbox", "kafka-again", "signalbox-again")):
            broker = kafka(tmp_path, connect) if run.startswith("kafka") else signalbox(tmp_path, connect, before)
            with broker as bootstrap:
                if not before:
                    create_topics(bootstrap)
                else:
                    assert {name: read(bootstrap, _MIXED, name) for name in seen} == seen, f"{run} reads what was there"
                    until(lambda at=bootstrap, offset=10 * before: committed(at) == offset, "the offset of the group")  # type: ignore[misc]
                write(bootstrap, run)
                commit(bootstrap, 10 * (before + 1))
                seen = {name: read(bootstrap, _MIXED, name) for name in ("read_committed", "read_uncommitted")}
                keys = [key for _, _, key in seen["read_committed"]]
                assert len(keys) == len(set(keys)) == (before + 1) * (40 * len(_CODECS) + 20)
                assert len(seen["read_uncommitted"]) == len(keys) + 20 * (before + 1)
                assert latest(bootstrap) == {f"key-{number}": f"{run}-committed" for number in range(20)}
                least = cleaned
                until(lambda low=least: cleaned_to(tmp_path) > low, f"a compaction by {run}")  # type: ignore[misc]
                cleaned = cleaned_to(tmp_path)
                assert latest(bootstrap) == {f"key-{number}": f"{run}-committed" for number in range(20)}
