"""Corrupt replicas leave the ISR, give up leadership and are fetched again; no acknowledged record is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.storage.log import Log
from signalbox.storage.validation.corruption import Corruption
from tests.replication.memory_cluster import TOPIC, MemoryCluster, values_of

RECORDS = [b"record %d" % number for number in range(8)]


def written(tmp_path: Path, brokers: tuple[int, ...] = (1, 2, 3)) -> MemoryCluster:
    """Broker 1 leads, the others follow; every broker has eight records, one per batch."""
    cluster = MemoryCluster(tmp_path, brokers)
    cluster.create(list(brokers))
    cluster.run()
    for record in RECORDS:
        cluster.produce(1, record)
        cluster.run()
    cluster.advance(1_000)
    return cluster


def flip(cluster: MemoryCluster, broker_id: int, number: int, at: int) -> None:
    """Changes a byte of the batch with this number on disk. The broker may be running or stopped."""
    [path] = (cluster.folder / str(broker_id) / f"{TOPIC}-0").glob("*.log")
    size = path.stat().st_size // len(RECORDS)
    with path.open("rb+") as file:
        file.seek(number * size + at)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 0x40]))


def isr(cluster: MemoryCluster) -> list[int]:
    [row] = cluster.view.rows.values()
    return sorted(row.isr)


def leader(cluster: MemoryCluster) -> int:
    [row] = cluster.view.rows.values()
    return row.leader


def wipe(cluster: MemoryCluster, broker_id: int) -> None:
    """The broker loses its replica and starts again, outside of the ISR."""
    cluster.kill(broker_id)
    cluster.elect(leader(cluster), isr=[member for member in isr(cluster) if member != broker_id])
    for file in (cluster.folder / str(broker_id) / f"{TOPIC}-0").iterdir():
        file.unlink()
    cluster.start(broker_id)
    cluster.tell_one(broker_id)


def assert_whole(cluster: MemoryCluster) -> None:
    assert isr(cluster) == sorted(cluster.brokers)
    contents = {broker.content() for broker in cluster.brokers.values()}
    assert len(contents) == 1
    assert values_of(contents.pop()) == RECORDS


@pytest.mark.spec("D3")
@pytest.mark.parametrize("at", [3, 5, 7, 9, 11, 13, 15, 18, 30, 65], ids=lambda at: f"byte {at}")
def test_a_leader_that_sends_corrupt_batches_hands_over_and_is_rebuilt(tmp_path: Path, at: int) -> None:
    cluster = written(tmp_path)
    flip(cluster, 1, 4, at)
    wipe(cluster, 3)
    cluster.advance(40_000, step_ms=200)
    assert leader(cluster) == 2
    assert_whole(cluster)
    assert cluster.brokers[1].manager.corrupt_logs.rebuilt == 1


@pytest.mark.spec("D3")
def test_a_follower_leaves_the_isr_before_it_is_truncated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = written(tmp_path)
    truncated: list[list[int]] = []

    def truncate(log: Log, offset: int) -> None:
        truncated.append(isr(cluster))
        truncate_corruption(log, offset)

    truncate_corruption = Log.truncate_corruption
    monkeypatch.setattr(Log, "truncate_corruption", truncate)
    flip(cluster, 2, 4, 65)
    log = cluster.brokers[2].partition().local_log(as_leader=False)
    corruption = log.check_at(0)
    assert corruption is not None
    assert corruption.offset == 4
    cluster.alter_partition_error = Error.NOT_CONTROLLER
    cluster.advance(1_000)
    assert (truncated, isr(cluster)) == ([], [1, 2, 3])
    cluster.alter_partition_error = Error.NONE
    cluster.advance(1_000)
    assert truncated == [[1, 3]]
    assert leader(cluster) == 1
    assert_whole(cluster)
    assert log.corruption is None


@pytest.mark.spec("D3")
def test_the_only_replica_serves_its_intact_records(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cluster = written(tmp_path, (1, 2))
    flip(cluster, 1, 4, 65)
    wipe(cluster, 2)
    cluster.advance(20_000, step_ms=200)
    assert (leader(cluster), isr(cluster)) == (1, [1])
    assert "ISR=[1]): no other replica is in sync" in caplog.text
    assert values_of(cluster.brokers[2].content()) == RECORDS[:4], "everything before the corrupt batch"
    manager = cluster.brokers[1].manager
    assert (manager.corrupt_logs.count, manager.corrupt_logs.rebuilt) == (1, 0)
    result = cluster.produce(1, b"more", acks=1)
    cluster.run()
    assert result.result()[0].error == Error.NONE


@pytest.mark.spec("D3")
def test_a_leader_with_a_pending_isr_change_hands_over_after_the_response(tmp_path: Path) -> None:
    """And not at the next check of the ISRs, which may be seconds later."""
    cluster = written(tmp_path)
    cluster.kill(3)
    cluster.elect(1, isr=[1, 2])
    partition = cluster.brokers[1].partition()
    cluster.alter_partition_error = Error.NOT_CONTROLLER
    cluster.start(3)
    cluster.tell()
    cluster.advance(200)
    assert partition.isr_state.pending is not None
    flip(cluster, 1, 4, 65)
    assert partition.local_log().check_at(0) is not None
    cluster.alter_partition_error = Error.NONE
    cluster.advance(200)
    assert leader(cluster) == 2
    cluster.advance(1_000)
    assert_whole(cluster)


@pytest.mark.spec("D3")
def test_it_hands_over_as_soon_as_another_replica_is_in_sync(tmp_path: Path) -> None:
    cluster = written(tmp_path, (1, 2))
    cluster.kill(2)
    cluster.elect(1, isr=[1])
    flip(cluster, 1, 4, 65)
    log = cluster.brokers[1].partition().local_log()
    assert log.check_at(0) is not None
    cluster.run()
    assert (leader(cluster), isr(cluster)) == (1, [1])
    cluster.start(2)  # its log has all records
    cluster.tell()
    cluster.advance(40_000, step_ms=200)
    assert leader(cluster) == 2
    assert_whole(cluster)


@pytest.mark.spec("D3")
@pytest.mark.parametrize("number", [2, 7])
def test_a_replica_whose_last_epoch_is_above_the_leaders_is_truncated(tmp_path: Path, number: int) -> None:
    cluster = written(tmp_path)
    cluster.kill(2)
    cluster.elect(1, isr=[1, 3])
    flip(cluster, 2, number, 12)
    (tmp_path / "2" / f"{TOPIC}-0" / "leader-epoch-checkpoint").unlink()
    cluster.start(2)
    cluster.tell_one(2)
    cluster.advance(2_000)
    assert_whole(cluster)


def test_a_leader_whose_last_epoch_is_above_the_controllers_hands_over(tmp_path: Path) -> None:
    cluster = written(tmp_path)
    cluster.kill(1)
    flip(cluster, 1, 7, 12)
    cluster.start(1)
    cluster.elect(1, isr=[1, 2, 3])
    cluster.advance(2_000)
    assert leader(cluster) == 2
    assert_whole(cluster)


def test_a_follower_that_asks_twice_makes_an_intact_leader_look_once(tmp_path: Path) -> None:
    cluster = written(tmp_path)
    for _ in range(3):
        cluster.cut.add((2, 1))
        cluster.produce(1, b"more", acks=1)
        cluster.advance(50)
        cluster.cut.clear()
        cluster.advance(2_000)
    assert cluster.brokers[1].manager.corrupt_logs.corrupt_batches == 0
    assert cluster.brokers[2].content() == cluster.brokers[1].content()


def test_the_first_corruption_is_kept(tmp_path: Path) -> None:
    cluster = written(tmp_path)
    log = cluster.brokers[1].partition().local_log()
    log.report_corruption(Corruption(4, 0, 300, "first"))
    log.report_corruption(Corruption(6, 0, 500, "second"))
    assert log.corruption is not None
    assert log.corruption.reason == "first"
    assert cluster.brokers[1].manager.corrupt_logs.corrupt_batches == 1


@pytest.mark.spec("D3")
@pytest.mark.parametrize("bit", [12, 15])
def test_a_corrupt_epoch_wins_no_comparison_of_logs(tmp_path: Path, bit: int) -> None:
    """Without a leader the controller requests the log ends: a corrupt log counts up to its first corrupt batch."""
    cluster = written(tmp_path, (1, 2))
    for broker_id in (1, 2):
        cluster.kill(broker_id)
    flip(cluster, 1, 7, bit)
    cluster.elect(-1, isr=[1, 2])
    cluster.start(1)
    cluster.tell_one(1)
    roles = cluster.brokers[1].manager._roles
    assert roles.log_end(TopicPartition(TOPIC, 0)) == (0, 7)


def test_an_epoch_that_only_the_batch_knows_is_truncated_by_the_leaders_answer(tmp_path: Path) -> None:
    """The last batch has epoch 1 instead of 0, in a cluster with epoch 2: plausible, and below the follower's own high
    watermark."""
    cluster = written(tmp_path)
    cluster.brokers[2].logs.checkpoint()
    cluster.kill(2)
    for _ in range(2):
        cluster.elect(1, isr=[1, 3])
    [path] = (cluster.folder / "2" / f"{TOPIC}-0").glob("*.log")
    size = path.stat().st_size // len(RECORDS)
    with path.open("rb+") as file:
        file.seek(7 * size + 15)
        file.write(b"\x01")
    cluster.start(2)
    cluster.tell_one(2)
    cluster.advance(2_000)
    assert_whole(cluster)
