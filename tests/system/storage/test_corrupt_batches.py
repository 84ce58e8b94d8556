"""Bits of batches flip on disk, of followers that are down and of leaders that run: every acknowledged record is
readable afterwards, and all replicas hold the same bytes again (SPEC D3). On both stores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tools.chaos.state_reader import StateReader
from tools.chaos.stores import STORES

from signalbox.metadata.entries.partition_state import PartitionState, decode_partition_state
from signalbox.metadata.layout import partition_state_path
from signalbox.server.scrubbing import INTERVAL_KEY
from signalbox.storage.segments.segment_scan import header_at
from signalbox.testing.process_cluster import ProcessCluster
from tests.system import provision
from tests.system.clusters import QUICK, metric
from tests.waiting import until

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow, pytest.mark.spec("D3")]

TOPIC = "orders"
REBUILT = "signalbox_replication_corruptlogs_rebuiltreplicas_total"
stores = pytest.mark.parametrize("name", ["zookeeper", "sqlite"])


class Running:
    """A cluster with one partition, led by broker 1 at first, and the acknowledged values."""

    def __init__(self, cluster: ProcessCluster, state: StateReader) -> None:
        self.cluster = cluster
        self.path = partition_state_path(TOPIC, 0)
        self.acknowledged: list[str] = []
        self._state = state

    def create(self, **configs: str) -> None:
        topic = NewTopic(TOPIC, 1, replica_assignment=[sorted(self.cluster.brokers)], config=configs)
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap(), "log_level": 2})
        admin.create_topics([topic], operation_timeout=20)[TOPIC].result(30)

    @property
    def state(self) -> PartitionState:
        entry = self._state.entry(self.path)
        assert entry is not None
        return decode_partition_state(self.path, entry.data, entry.version)

    def await_isr(self, *members: int) -> None:
        until(lambda: sorted(self.state.isr) == list(members), f"ISR {members}")

    def produce(self, count: int, size: int = 20) -> None:
        """Produces each record in a batch of its own."""
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap(), "acks": "all", "log_level": 2})
        for _ in range(count):
            value = f"r{len(self.acknowledged)}".ljust(size, ".")
            errors: list[object] = []
            producer.produce(TOPIC, value, on_delivery=lambda error, message, found=errors: found.append(error))  # type: ignore[misc]
            assert producer.flush(60) == 0
            assert errors == [None]
            self.acknowledged.append(value)

    def segments(self, node_id: int) -> list[Path]:
        return sorted((self.cluster.brokers[node_id].folder / "data" / f"{TOPIC}-0").glob("*.log"))

    def bytes_of(self, node_id: int) -> bytes:
        return b"".join(path.read_bytes() for path in self.segments(node_id))

    def read(self) -> list[str]:
        """The topic's values from the first offset to the end offset."""
        consumer = Consumer(
            {"bootstrap.servers": self.cluster.bootstrap(), "group.id": "none", "log_level": 2,
             "enable.auto.commit": False, "check.crcs": True}
        )  # fmt: skip
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        found: list[str] = []

        def all_read() -> bool:
            for message in consumer.consume(100, 0.5):
                assert message.error() is None, message.error()
                found.append((message.value() or b"").decode())
            position = consumer.position([TopicPartition(TOPIC, 0)])[0].offset
            try:
                _, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=10)
            except KafkaException:  # the client does not know the new leader yet
                return False
            return bool(position >= end > 0)

        until(all_read, "everything read")
        consumer.close()
        return found

    def assert_whole(self) -> None:
        """All replicas are in sync and equal; every acknowledged record is read, in order, once."""
        self.await_isr(*(each for each, broker in self.cluster.brokers.items() if broker.running))
        running = [node_id for node_id, broker in self.cluster.brokers.items() if broker.running]
        until(lambda: len({self.bytes_of(node_id) for node_id in running}) == 1, "the same bytes on every replica")
        assert self.read() == self.acknowledged


@contextmanager
def running(folder: Path, name: str, brokers: int, **overrides: str) -> Iterator[Running]:
    if name == "zookeeper":
        provision.zookeeper()
    with STORES[name](folder, 6_000) as store:
        settings = {**QUICK, **store.settings, "signalbox.audit.enable": "false", **overrides}
        with (
            ProcessCluster(folder / "cluster", brokers, overrides=settings, module=store.module) as cluster,
            store.state() as state,
        ):
            yield Running(cluster, state)


def flip(segment: Path, number: int, bit: int) -> None:
    """Flips a bit of the batch with this number in the file (-1: the last one); bit 0 is the highest bit of the first
    byte."""
    data, positions = segment.read_bytes(), [0]
    while (header := header_at(data, positions[-1], 0)) and positions[-1] + header.size_bytes < len(data):
        positions.append(positions[-1] + header.size_bytes)
    at = positions[number] + bit // 8
    with segment.open("rb+") as file:
        file.seek(at)
        file.write(bytes([data[at] ^ 0x80 >> bit % 8]))
        file.flush()
        os.fsync(file.fileno())


@stores
@pytest.mark.parametrize("bit", [63 - 27, 96 + 1], ids=["2^27 on the base offset", "2^30 on the leader epoch"])
def test_a_follower_with_a_corrupt_header_is_whole_before_it_is_in_sync(tmp_path: Path, name: str, bit: int) -> None:
    """The checksum covers neither field. The follower restarts, then its leader dies."""
    with running(tmp_path, name, 2) as it:
        it.create(**{"min.insync.replicas": "1"})
        it.await_isr(1, 2)
        it.produce(10)
        it.cluster.kill(2)
        it.await_isr(1)
        flip(it.segments(2)[-1], -1, bit)
        it.cluster.start_broker(2)
        it.await_isr(1, 2)
        it.cluster.kill(1)
        until(lambda: it.state.leader == 2, "broker 2 leads")
        it.produce(5)
        assert it.read() == it.acknowledged
        it.cluster.start_broker(1)
        it.assert_whole()


@stores
def test_a_leader_that_is_corrupt_in_an_old_segment_hands_over_and_is_rebuilt(tmp_path: Path, name: str) -> None:
    """The leader detects it when a follower that has lost its replica fetches the segment: no broker is restarted for
    it and none stops."""
    with running(tmp_path, name, 3) as it:
        it.create(**{"min.insync.replicas": "1", "segment.bytes": "16384"})
        it.await_isr(1, 2, 3)
        it.produce(60, size=1_000)
        flip(it.segments(1)[0], 3, 700)
        it.cluster.kill(3)
        it.await_isr(1, 2)
        for file in it.segments(3)[0].parent.iterdir():
            file.unlink()
        it.cluster.start_broker(3)
        until(lambda: it.state.leader == 2, "an intact replica leads")
        it.produce(3)
        it.assert_whole()
        assert "Log of orders-0 is corrupt (offset=3, segment=0" in it.cluster.brokers[1].log_file.read_text()
        until(lambda: metric(it.cluster, 1, REBUILT) == 1, "counted")


@stores
def test_the_scrub_finds_corrupt_batches_that_no_client_reads(tmp_path: Path, name: str) -> None:
    """An old segment of a leader and of a follower: both replicas are rebuilt from the third, one after the other."""
    with running(tmp_path, name, 3, **{INTERVAL_KEY: "1000"}) as it:
        it.create(**{"min.insync.replicas": "1", "segment.bytes": "16384"})
        it.await_isr(1, 2, 3)
        it.produce(60, size=1_000)
        flip(it.segments(1)[0], 3, 700)
        flip(it.segments(3)[1], 2, 63 - 3)
        for node_id in (1, 3):
            until(lambda of=node_id: metric(it.cluster, of, REBUILT) == 1, f"broker {node_id} is rebuilt")  # type: ignore[misc]
        assert it.state.leader == 2
        it.produce(3)
        it.assert_whole()
        assert metric(it.cluster, 1, "signalbox_storage_logscrub_corruptbatches_total") == 1
        assert metric(it.cluster, 2, "signalbox_storage_logscrub_corruptbatches_total") == 0


@stores
@pytest.mark.parametrize("bit", [63 - 27, 96 + 1], ids=["2^27 on the base offset", "2^30 on the leader epoch"])
def test_the_corrupt_replica_restarts_first(tmp_path: Path, name: str, bit: int) -> None:
    """Both brokers were killed at once. The corrupt replica does not lead before the intact one is back."""
    with running(tmp_path, name, 2) as it:
        it.create(**{"min.insync.replicas": "1"})
        it.await_isr(1, 2)
        it.produce(10)
        it.cluster.stop(graceful=False)
        flip(it.segments(1)[-1], -1, bit)
        it.cluster.start_broker(1)
        it.cluster.start_broker(2)
        until(lambda: it.state.leader > 0, "a leader", timeout_s=90)
        it.produce(5)
        it.assert_whole()
