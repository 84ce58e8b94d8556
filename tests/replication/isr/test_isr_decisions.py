"""Which replicas leave and join the ISR, and the effects of the controller's responses."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.protocol.error_table import Error
from signalbox.replication.isr.isr_decisions import (
    AlteredPartition,
    NextAction,
    apply_response,
    propose_expansion,
    propose_leave,
    propose_recovered,
    propose_shrink,
)
from signalbox.replication.isr.isr_state import RECOVERING, IsrState
from signalbox.replication.partition import Partition
from tests.replication.memory_cluster import MemoryCluster

LAG = 30_000


def led(tmp_path: Path, isr: list[int]) -> tuple[MemoryCluster, Partition]:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.view.alive.update({2, 3})
    cluster.create([1, 2, 3])
    cluster.elect(1, isr=isr)
    partition = cluster.brokers[1].partition()
    cluster.produce(1, b"0", b"1", acks=1)
    cluster.run()
    return cluster, partition


def altered(
    partition: Partition, isr: list[int], error: Error = Error.NONE, partition_epoch: int = 9
) -> AlteredPartition:
    return AlteredPartition(
        error_code=error, leader_epoch=partition.leader_epoch, isr=isr, partition_epoch=partition_epoch
    )


def test_followers_that_lag_for_too_long_are_left_out(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path, [1, 2, 3])
    partition.record_follower_fetch(2, 2, 0)
    assert propose_shrink(partition, cluster.clock.now_ms() + LAG, LAG) is None
    proposal = propose_shrink(partition, cluster.clock.now_ms() + LAG + 1, LAG)
    assert proposal is not None
    assert (proposal.isr, partition.isr, partition.maximal_isr) == ((1, 2), (1, 2, 3), frozenset({1, 2, 3}))
    assert propose_shrink(partition, cluster.clock.now_ms() + LAG + 1, LAG) is None, "one change at a time"


def test_a_shrink_moves_the_high_watermark_when_it_is_confirmed(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path, [1, 2, 3])
    partition.record_follower_fetch(2, 2, 0)
    proposal = propose_shrink(partition, cluster.clock.now_ms() + LAG + 1, LAG)
    assert proposal is not None
    assert partition.high_watermark == 0
    assert apply_response(partition, proposal, altered(partition, [1, 2])) is NextAction.DONE
    assert (partition.isr, partition.high_watermark, partition.partition_epoch) == ((1, 2), 2, 9)


@pytest.mark.parametrize(
    ("offset", "alive", "joins"), [(2, True, True), (1, True, False), (0, True, False), (2, False, False)]
)
def test_when_a_follower_joins_the_isr(tmp_path: Path, offset: int, alive: bool, joins: bool) -> None:
    cluster, partition = led(tmp_path, [1])
    if not alive:
        cluster.view.alive.discard(2)
    partition.record_follower_fetch(2, offset, 0)
    proposal = propose_expansion(partition, partition.followers[2], cluster.view)
    assert (proposal is not None) is joins
    assert (2 in partition.maximal_isr) is joins


def test_a_follower_below_the_leader_epoch_start_does_not_join(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path, [1, 3])
    cluster.elect(1, isr=[1, 3])
    partition.record_follower_fetch(2, 1, 0)
    assert (partition.high_watermark, partition.leader_epoch_start_offset) == (0, 2)
    assert propose_expansion(partition, partition.followers[2], cluster.view) is None


def test_an_expansion_binds_before_it_is_confirmed(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path, [1])
    partition.record_follower_fetch(2, 2, 0)
    assert propose_expansion(partition, partition.followers[2], cluster.view) is not None
    cluster.produce(1, b"2", acks=1)
    cluster.run()
    assert partition.high_watermark == 2
    partition.record_follower_fetch(2, 3, 0)
    assert partition.high_watermark == 3


TAKEN_BACK = (Error.OPERATION_NOT_ATTEMPTED, Error.INELIGIBLE_REPLICA)
AWAITED = (
    Error.UNKNOWN_TOPIC_OR_PARTITION,
    Error.UNKNOWN_TOPIC_ID,
    Error.FENCED_LEADER_EPOCH,
    Error.INVALID_UPDATE_VERSION,
    Error.INVALID_REQUEST,
    Error.NEW_LEADER_ELECTED,
)
RETRIED = (Error.NOT_CONTROLLER, Error.UNKNOWN_SERVER_ERROR, Error.REQUEST_TIMED_OUT)


@pytest.mark.parametrize("error", [*TAKEN_BACK, *AWAITED, *RETRIED])
def test_rejections(tmp_path: Path, error: Error) -> None:
    cluster, partition = led(tmp_path, [1])
    partition.record_follower_fetch(2, 2, 0)
    proposal = propose_expansion(partition, partition.followers[2], cluster.view)
    assert proposal is not None
    next_action = apply_response(partition, proposal, altered(partition, [], error))
    assert next_action is (NextAction.RETRY if error in RETRIED else NextAction.DONE)
    assert partition.isr == (1,)
    assert partition.maximal_isr == ({1} if error in TAKEN_BACK else {1, 2})


@pytest.mark.parametrize(
    "change", ["older partition epoch", "other leader epoch", "no longer leader", "other proposal"]
)
def test_late_answers_do_not_count(tmp_path: Path, change: str) -> None:
    cluster, partition = led(tmp_path, [1])
    partition.record_follower_fetch(2, 2, 0)
    proposal = propose_expansion(partition, partition.followers[2], cluster.view)
    assert proposal is not None
    response = altered(partition, [1, 2])
    if change == "older partition epoch":
        response.partition_epoch = 0
    elif change == "other leader epoch":
        response.leader_epoch = 7
    elif change == "no longer leader":
        cluster.elect(2, isr=[2])
    else:
        cluster.elect(1, isr=[1, 3])
    before = partition.isr
    assert apply_response(partition, proposal, response) is NextAction.DONE
    assert partition.isr == before


def test_a_recovering_leader_reports_its_recovery(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path, [1])
    assert propose_recovered(partition) is None
    partition.set_isr(IsrState((1,), RECOVERING))
    partition.record_follower_fetch(2, 2, 0)
    assert propose_expansion(partition, partition.followers[2], cluster.view) is None
    proposal = propose_recovered(partition)
    assert proposal is not None
    assert (proposal.isr, proposal.leader_recovery_state) == ((1,), 0)
    assert apply_response(partition, proposal, altered(partition, [1])) is NextAction.DONE
    assert partition.isr_state.leader_recovery_state == 0


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("error", "next_action", "pending"),
    [
        (Error.NONE, NextAction.DONE, True),  # pending until LeaderAndIsr arrives
        (Error.INELIGIBLE_REPLICA, NextAction.DONE, False),
        (Error.INVALID_REQUEST, NextAction.DONE, False),  # from a controller of Apache Kafka
        (Error.FENCED_LEADER_EPOCH, NextAction.DONE, False),
        (Error.NOT_CONTROLLER, NextAction.RETRY, True),
    ],
)
def test_a_leader_asks_for_an_isr_without_itself(
    tmp_path: Path, error: Error, next_action: NextAction, pending: bool
) -> None:
    _, partition = led(tmp_path, [1, 2])
    proposal = propose_leave(partition)
    assert proposal is not None
    assert (proposal.isr, partition.maximal_isr) == ((2,), frozenset({1, 2}))
    assert propose_leave(partition) is None, "one change at a time"
    assert apply_response(partition, proposal, altered(partition, [1, 2], error)) is next_action
    assert (partition.isr_state.pending is proposal, partition.isr) == (pending, (1, 2))


def test_a_replica_that_is_alone_in_sync_does_not_ask_to_leave(tmp_path: Path) -> None:
    _, partition = led(tmp_path, [1])
    assert propose_leave(partition) is None


def test_a_follower_asks_for_an_isr_without_itself(tmp_path: Path) -> None:
    cluster, partition = led(tmp_path, [1, 2])
    cluster.elect(2, isr=[1, 2])
    proposal = propose_leave(partition)
    assert proposal is not None
    assert (proposal.isr, proposal.leader_epoch) == ((2,), partition.leader_epoch)
    assert apply_response(partition, proposal, altered(partition, [], Error.INVALID_REQUEST)) is NextAction.DONE
    assert partition.isr_state.pending is None
