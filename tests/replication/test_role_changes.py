"""Effects of a role change: listeners, fetchers, logs that cannot be opened, directories that fail."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.storage.files.faulty_file_system import FaultyFileSystem
from tests.replication.memory_cluster import TOPIC, MemoryCluster

TP = TopicPartition(TOPIC, 0)


class Listener:
    def __init__(self) -> None:
        self.calls: list[tuple[str, TopicPartition, int | None]] = []

    def on_elected(self, topic_partition: TopicPartition, leader_epoch: int) -> None:
        self.calls.append(("elected", topic_partition, leader_epoch))

    def on_resigned(self, topic_partition: TopicPartition, leader_epoch: int | None) -> None:
        self.calls.append(("resigned", topic_partition, leader_epoch))


def test_listeners_are_notified_of_elections_resignations_and_deletions(tmp_path: Path) -> None:
    cluster, listener = MemoryCluster(tmp_path, [1, 2]), Listener()
    cluster.brokers[1].manager._dependencies.listeners.append(listener)
    cluster.create([1, 2])
    cluster.tell()
    cluster.elect(2)
    cluster.elect(1)
    cluster.stop_replica(1, delete=True)
    assert listener.calls == [("elected", TP, 0), ("resigned", TP, 1), ("elected", TP, 2), ("resigned", TP, None)]


@pytest.mark.parametrize(
    ("known", "error"), [(True, Error.NOT_LEADER_OR_FOLLOWER), (False, Error.UNKNOWN_TOPIC_OR_PARTITION)]
)
def test_waiters_on_a_deleted_replica_get_an_error_that_depends_on_the_topic(
    tmp_path: Path, known: bool, error: Error
) -> None:
    cluster = MemoryCluster(tmp_path, [1], min_insync_replicas=1)
    cluster.view.alive.add(2)
    cluster.create([1, 2])
    result = cluster.produce(1, b"a")
    cluster.run()
    assert not result.is_done
    if not known:
        cluster.view.rows.clear()
    cluster.stop_replica(1, delete=True)
    assert [Error.of(append.error) for append in result.result()] == [error]


def test_a_follower_fetches_from_its_present_leader_only(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path)
    cluster.create([1, 2, 3])
    cluster.run()
    fetchers = cluster.brokers[3].manager.fetchers
    assert [fetcher.leader_id for fetcher in fetchers._fetchers.values()] == [1]
    cluster.elect(2)
    cluster.run()
    assert [fetcher.leader_id for fetcher in fetchers._fetchers.values()] == [2]
    cluster.elect(3)
    assert len(fetchers) == 0


def test_a_log_that_cannot_be_made(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [])
    disk = FaultyFileSystem()
    broker = cluster.start(1, disk)
    disk.fail("make_directory")
    cluster.create([1])
    response = cluster.tell_one(1)
    assert [e.error_code for topic in response.topics for e in topic.partition_errors] == [Error.KAFKA_STORAGE_ERROR]
    assert broker.partition().is_offline
    assert cluster.stop_replica(1, delete=True).partition_errors[0].error_code == Error.KAFKA_STORAGE_ERROR


def test_a_directory_that_fails_takes_its_partitions_along(tmp_path: Path) -> None:
    cluster, listener = MemoryCluster(tmp_path, [2]), Listener()
    disk = FaultyFileSystem()
    broker = cluster.start(1, disk)
    broker.manager._dependencies.listeners.append(listener)
    cluster.create([1, 2], partitions=2)
    cluster.run()
    waiting = cluster.produce(1, b"x", index=1)
    broker.iterations.end()
    disk.fail("pwrite")
    failed = cluster.produce(1, b"x", acks=1)
    broker.iterations.end()
    assert failed.result()[0].error == Error.KAFKA_STORAGE_ERROR
    broker.manager.on_log_failure()
    assert not broker.partition(1).is_offline, "an append may be in progress: the iteration has to end"
    broker.iterations.end()
    assert [broker.partition(index).is_offline for index in range(2)] == [True, True]
    assert waiting.result()[0].error == Error.KAFKA_STORAGE_ERROR
    assert [event for event, _, _ in listener.calls] == ["elected", "elected", "resigned", "resigned"]


def test_a_follower_whose_disk_fails_stops_fetching(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    disk = FaultyFileSystem()
    broker = cluster.start(2, disk)
    cluster.create([1, 2])
    cluster.run()
    disk.fail("pwrite")
    cluster.produce(1, b"x", acks=1)
    cluster.run()
    assert broker.partition().is_offline
    assert len(broker.manager.fetchers._fetcher_of) == 0


@pytest.mark.parametrize("operation", ["open", "make_directory"])
def test_a_log_that_finds_no_descriptor_is_rejected_and_made_later(tmp_path: Path, operation: str) -> None:
    cluster = MemoryCluster(tmp_path, [])
    disk = FaultyFileSystem()
    broker = cluster.start(1, disk)
    disk.fail(operation, errno.EMFILE)
    cluster.create([1])
    response = cluster.tell_one(1)
    assert [e.error_code for topic in response.topics for e in topic.partition_errors] == [Error.KAFKA_STORAGE_ERROR]
    assert not broker.partition().is_offline
    disk.heal()
    response = cluster.tell_one(1)
    assert [e.error_code for topic in response.topics for e in topic.partition_errors] == [Error.NONE]
    produced = cluster.produce(1, b"x", acks=1)
    broker.iterations.end()
    assert produced.result()[0].error == Error.NONE


def test_a_follower_without_descriptors_goes_on_when_there_are_some(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    disk = FaultyFileSystem()
    broker = cluster.start(2, disk)
    cluster.create([1, 2])
    cluster.run()
    disk.fail("pwrite", errno.EMFILE)
    cluster.produce(1, b"x", acks=1)
    cluster.run()
    log = broker.partition().log
    assert log is not None
    assert (log.online, log.log_end_offset) == (True, 0)
    disk.heal()
    cluster.advance(1_000)
    cluster.run()
    assert log.log_end_offset == 1


def truncated(cluster: MemoryCluster, *broker_ids: int) -> None:
    """The brokers are killed, their logs lose the second half, and the brokers start again."""
    for broker_id in broker_ids:
        cluster.kill(broker_id)
    for broker_id in broker_ids:
        for segment in (cluster.folder / str(broker_id)).glob(f"{TP}/*.log"):
            segment.write_bytes(segment.read_bytes()[: segment.stat().st_size // 2])
    for broker_id in broker_ids:
        cluster.start(broker_id)


def acknowledge(cluster: MemoryCluster, count: int) -> None:
    for number in range(count):
        cluster.produce(1, b"%d" % number)
        cluster.run()
    cluster.advance(10_000)  # until the high watermarks are saved


@pytest.mark.spec("D3")
@pytest.mark.parametrize("unclean", [False, True])
def test_a_leader_names_the_acknowledged_records_that_its_log_has_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, unclean: bool
) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2])
    cluster.create([1, 2])
    acknowledge(cluster, 4)
    truncated(cluster, 1, 2)
    cluster.elect(1, unclean=unclean)
    cluster.elect(1)
    cluster.run()
    assert [record.levelname for record in caplog.records if "are lost" in record.message] == ["ERROR"]
    assert (
        "Partition flights-0 has lost acknowledged records (leader epoch=1, log end offset=2, high watermark before=4, "
        f"unclean election={unclean}): records from offset 2 to 3 are lost" in caplog.text
    )


@pytest.mark.spec("D3")
def test_an_unclean_election_logs_the_lost_offsets(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2])
    cluster.create([1, 2])
    acknowledge(cluster, 4)
    for broker_id in (1, 2):
        cluster.kill(broker_id)
        shutil.rmtree(tmp_path / str(broker_id))
    cluster.start(1)
    cluster.elect(1, unclean=True)
    assert [record.levelname for record in caplog.records if "are lost" in record.message] == ["WARNING"]
    assert (
        "Partition flights-0 has a leader by unclean election (leader epoch=1, log end offset=0): records from offset 0"
        " on are lost" in caplog.text
    )


@pytest.mark.spec("D3")
def test_a_truncated_replica_that_refetched_its_records_logs_no_loss(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = MemoryCluster(tmp_path, [1, 2])
    cluster.create([1, 2])
    acknowledge(cluster, 4)
    truncated(cluster, 2)
    cluster.tell()
    cluster.run()
    assert "records from offset 2 to 3 are gone from this replica" in caplog.text
    cluster.elect(2)
    cluster.run()
    assert "are lost" not in caplog.text
