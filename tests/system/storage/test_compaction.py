"""Compaction in real brokers (SPEC D6): what consumers and Apache Kafka's dump tool find afterwards, brokers that are
killed at any moment, followers, and the size of `__consumer_offsets`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import QUICK, metric
from tests.system.kafka_tools.test_log_dump import dump, files_of
from tests.system.provision import command, java_class
from tests.system.wire import Wire, dial
from tests.waiting import until

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow, pytest.mark.spec("D6")]

NEEDS = (partial(command, "javac"), partial(java_class, "Tools.java", "tools"))
TOPIC = "accounts"
KEYS = 200
SETTINGS: Mapping[str, str] = {
    **QUICK,
    "log.cleaner.backoff.ms": "20",
    "log.flush.offset.checkpoint.interval.ms": "100",
}
COMPACTED: Mapping[str, str] = {
    "cleanup.policy": "compact",
    "segment.bytes": "60000",
    "index.interval.bytes": "1000",
    "min.cleanable.dirty.ratio": "0.05",
    "file.delete.delay.ms": "0",
    "delete.retention.ms": "100",
}


class Accounts:
    """A compacted topic of one partition, and the last acknowledged value of each key."""

    def __init__(self, cluster: ProcessCluster, **configs: str) -> None:
        self.cluster = cluster
        self.acknowledged: dict[str, int] = {}
        self._number = 0
        topic = NewTopic(TOPIC, 1, len(cluster.brokers), config={**COMPACTED, **configs})
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2})
        admin.create_topics([topic], operation_timeout=20)[TOPIC].result(30)

    def producer(self, **settings: object) -> Producer:
        return Producer(
            {"bootstrap.servers": self.cluster.bootstrap(), "acks": "all", "log_level": 2, "enable.idempotence": True,
             "batch.num.messages": 50, "linger.ms": 5, **settings}
        )  # fmt: skip

    def produce(self, producer: Producer, count: int) -> None:
        for _ in range(count):
            self._number += 1
            number, key = self._number, f"k{self._number * 7 % KEYS}"

            def delivered(error: object, _: object, key: str = key, number: int = number) -> None:
                if error is None:
                    self.acknowledged[key] = max(number, self.acknowledged.get(key, 0))

            while len(producer) >= 1_000:
                producer.poll(0.01)
            producer.produce(TOPIC, f"{number} ".ljust(200, "."), key, on_delivery=delivered)

    def table(self) -> tuple[dict[str, int], int]:
        """The topic's last value of each key, and the number of its records."""
        consumer = Consumer(
            {"bootstrap.servers": self.cluster.bootstrap(), "group.id": "none", "log_level": 2,
             "enable.auto.commit": False, "check.crcs": True, "enable.partition.eof": True}
        )  # fmt: skip
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        table: dict[str, int] = {}
        count = 0
        while True:
            message = consumer.poll(30)
            assert message is not None
            if message.error():
                consumer.close()
                return table, count
            count += 1
            key, value = message.key(), message.value()
            assert isinstance(key, bytes)
            assert isinstance(value, bytes)
            table[key.decode()] = int(value.split()[0])

    def folder(self, node_id: int = 1) -> Path:
        return self.cluster.brokers[node_id].folder / "data" / f"{TOPIC}-0"

    def check(self) -> None:
        """No acknowledged value is lost. A later one that was not acknowledged may be there."""
        table, _ = self.table()
        assert table.keys() == self.acknowledged.keys()
        assert all(table[key] >= value for key, value in self.acknowledged.items())

    def await_cleaned(self, node_id: int = 1) -> None:
        until(lambda: metric(self.cluster, node_id, "kafka_log_logcleanermanager_max_dirty_percent") <= 5, "clean")


def test_the_dump_tool_reads_what_is_left_on_each_replica(tmp_path: Path) -> None:
    with ProcessCluster(tmp_path, 3, overrides=SETTINGS) as cluster:
        accounts = Accounts(cluster)
        for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
            producer = accounts.producer(**{"compression.type": codec})
            accounts.produce(producer, 2_000)
            assert producer.flush(60) == 0
        for node_id in cluster.brokers:
            accounts.await_cleaned(node_id)
        table, count = accounts.table()
        assert table == accounts.acknowledged
        assert count < 6_000  # compressed, the active segment has thousands
        for node_id in cluster.brokers:
            cluster.stop_broker(node_id)
        for node_id in cluster.brokers:
            folder = accounts.folder(node_id)
            found = dump(files_of(folder, ".log"), "--deep-iteration", "--print-data-log")
            assert found.complaints == []
            assert {batch["isvalid"] for batch in found.batches} == {"true"}
            offsets = [int(record["offset"]) for record in found.records]
            assert offsets == sorted(set(offsets))
            assert len(offsets) < 6_000
            assert {record["key"]: int(record["payload"]) for record in found.records} == accounts.acknowledged
            indexes = [*files_of(folder, ".index")[:-1], *files_of(folder, ".timeindex")[:-1]]
            assert dump(indexes).complaints == []
            checkpoint = (folder.parent / "cleaner-offset-checkpoint").read_text()
            assert f"{TOPIC} 0 " in checkpoint


def test_a_broker_that_is_killed_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    with ProcessCluster(tmp_path, 1, overrides=SETTINGS) as cluster:
        accounts = Accounts(cluster)
        producer = accounts.producer()
        for _ in range(8):
            names: set[str] = set()
            while not names:
                accounts.produce(producer, 300)
                names = {path.suffix for path in accounts.folder().iterdir()} & {".cleaned", ".swap", ".deleted"}
            cluster.kill(1)
            cluster.start_broker(1)
        assert producer.flush(60) == 0
        accounts.await_cleaned()
        accounts.check()
        assert accounts.table()[1] < 2_000


def test_a_million_commits_leave_a_small_offsets_topic(tmp_path: Path) -> None:
    settings = {**SETTINGS, "offsets.topic.num.partitions": "1", "offsets.topic.segment.bytes": "1048576"}
    settings["log.segment.delete.delay.ms"] = "0"
    settings["log.retention.check.interval.ms"] = "200"
    partitions, requests = 500, 2_000
    with ProcessCluster(tmp_path, 1, overrides=settings) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap(), "log_level": 2})
        admin.create_topics([NewTopic("t", partitions, 1)], operation_timeout=60)["t"].result(60)
        folder = cluster.brokers[1].folder / "data" / "__consumer_offsets-0"
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap(), "group.id": "g", "log_level": 2})
        positions = [TopicPartition("t", number) for number in range(partitions)]
        consumer.committed(positions, timeout=60)  # looks the coordinator up, which creates the topic
        with dial(cluster, 1) as wire:
            for number in range(1, requests + 1):
                assert _commit(wire, partitions, number)
        until(lambda: sum(path.stat().st_size for path in folder.glob("*.log")) < 3 << 20, "a small log")
        cluster.kill(1)
        cluster.start_broker(1)
        committed = consumer.committed(positions, timeout=60)
        assert {position.offset for position in committed} == {requests}
        consumer.close()


def _commit(wire: Wire, partitions: int, offset: int) -> bool:
    positions = [
        OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=number, committed_offset=offset, committed_metadata=""
        )
        for number in range(partitions)
    ]
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(name="t", partitions=positions)
    answer = wire.ask(ApiKey.OFFSET_COMMIT, 8, OffsetCommitRequest(group_id="g", topics=[topic]))
    return {p.error_code for t in answer.topics for p in t.partitions} == {0}
