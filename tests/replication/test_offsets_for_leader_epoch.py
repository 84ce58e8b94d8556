"""End offsets of leader epochs."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from tests.replication.memory_cluster import TOPIC, MemoryCluster, over_the_wire

pytestmark = pytest.mark.spec("D1")


def three_leader_epochs(tmp_path: Path) -> MemoryCluster:
    """Epoch 0 has offsets 0 and 1, epoch 2 has offset 2, epoch 3 has no records."""
    cluster = MemoryCluster(tmp_path, [1])
    cluster.create([1])
    for values in ([b"a", b"b"], [], [b"c"]):
        if values:
            cluster.produce(1, *values)
            cluster.run()
        cluster.elect(1)
    return cluster


def ask(
    cluster: MemoryCluster, epoch: int, current: int = -1, index: int = 0, version: int = 4
) -> tuple[int, int, int]:
    request_partition = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
        partition=index, leader_epoch=epoch, current_leader_epoch=current
    )
    request = OffsetForLeaderEpochRequest(
        topics=[OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=TOPIC, partitions=[request_partition])]
    )
    manager = cluster.brokers[1].manager
    entry = (
        over_the_wire(manager.offsets_for_leader_epoch(over_the_wire(request, version)), version)
        .topics[0]
        .partitions[0]
    )
    return entry.error_code, entry.leader_epoch, entry.end_offset


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize(
    ("epoch", "answer"), [(0, (0, 0, 2)), (1, (0, 0, 2)), (2, (0, 2, 3)), (3, (0, 3, 3)), (4, (0, -1, -1))]
)
def test_end_offset_of_a_leader_epoch(tmp_path: Path, epoch: int, answer: tuple[int, int, int], version: int) -> None:
    assert ask(three_leader_epochs(tmp_path), epoch, version=version) == answer


def test_errors(tmp_path: Path) -> None:
    cluster = three_leader_epochs(tmp_path)
    assert ask(cluster, 0, current=2)[0] == Error.FENCED_LEADER_EPOCH
    assert ask(cluster, 0, current=9)[0] == Error.UNKNOWN_LEADER_EPOCH
    assert ask(cluster, 0, index=4)[0] == Error.UNKNOWN_TOPIC_OR_PARTITION
    request = OffsetForLeaderEpochRequest(
        topics=[
            OffsetForLeaderEpochRequest.OffsetForLeaderTopic(
                topic=TOPIC, partitions=[OffsetForLeaderEpochRequest.OffsetForLeaderPartition()]
            )
        ]
    )
    denied = cluster.brokers[1].manager.offsets_for_leader_epoch(request, lambda topic: False)
    assert denied.topics[0].partitions[0].error_code == Error.TOPIC_AUTHORIZATION_FAILED
