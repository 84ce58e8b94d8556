"""LeaderAndIsr and StopReplica, rule by rule, in all their versions."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from signalbox.common.cooperative_task import CooperativeTask
from signalbox.common.ids import ZERO_UUID, TopicPartition, uuid_text
from signalbox.protocol import own_tags
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from signalbox.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from signalbox.protocol.records.batch_header import iter_batch_headers
from tests.replication.memory_cluster import TOPIC, TOPIC_ID, MemoryCluster, batch_of, over_the_wire

State = LeaderAndIsrRequest.LeaderAndIsrPartitionState


def cluster_of_one(tmp_path: Path) -> MemoryCluster:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.view.alive.update({2, 3})
    return cluster


def state(leader: int = 1, leader_epoch: int = 0, index: int = 0, replicas: tuple[int, ...] = (1, 2, 3)) -> State:
    return State(
        partition_index=index, leader=leader, leader_epoch=leader_epoch, isr=list(replicas),
        replicas=list(replicas), partition_epoch=leader_epoch, is_new=True,
    )  # fmt: skip


def lead_and_follow(
    cluster: MemoryCluster, *states: State, controller_epoch: int = 1, topic_id: bytes = TOPIC_ID
) -> tuple[int, dict[int, Error]]:
    """(top-level error, errors by partition)."""
    topic = LeaderAndIsrRequest.LeaderAndIsrTopicState(
        topic_name=TOPIC, topic_id=topic_id, partition_states=list(states)
    )
    request = LeaderAndIsrRequest(controller_epoch=controller_epoch, topic_states=[topic])
    response = cluster.brokers[1].manager.become_leader_or_follower(over_the_wire(request, 7), 7)
    decoded: LeaderAndIsrResponse = over_the_wire(response, 7)
    errors = {
        entry.partition_index: Error.of(entry.error_code)
        for found in decoded.topics
        if found.topic_id == topic_id
        for entry in found.partition_errors
    }
    return decoded.error_code, errors


def test_leaders_and_followers_in_one_request(tmp_path: Path) -> None:
    cluster = cluster_of_one(tmp_path)
    answer = lead_and_follow(cluster, state(2, index=0), state(1, index=1), state(3, index=2, replicas=(3, 2)))
    assert answer == (0, {0: Error.NONE, 1: Error.NONE, 2: Error.UNKNOWN_TOPIC_OR_PARTITION})
    manager = cluster.brokers[1].manager
    assert [manager.current_leader(TOPIC, index) for index in range(3)] == [(2, 0), (1, 0), (-1, -1)]


@pytest.mark.parametrize(
    ("leader_epoch", "error"),
    [(6, Error.NONE), (5, Error.STALE_CONTROLLER_EPOCH), (4, Error.STALE_CONTROLLER_EPOCH)],
)
def test_only_a_newer_leader_epoch_counts(tmp_path: Path, leader_epoch: int, error: Error) -> None:
    cluster = cluster_of_one(tmp_path)
    lead_and_follow(cluster, state(leader_epoch=5))
    assert lead_and_follow(cluster, state(2, leader_epoch=leader_epoch)) == (0, {0: error})
    assert cluster.brokers[1].partition().is_leader is (error is not Error.NONE)


def test_requests_of_a_former_controller_are_rejected(tmp_path: Path) -> None:
    cluster = cluster_of_one(tmp_path)
    lead_and_follow(cluster, state(), controller_epoch=3)
    stale = Error.STALE_CONTROLLER_EPOCH
    assert lead_and_follow(cluster, state(2, 1), state(2, 1, index=1), controller_epoch=2) == (
        stale,
        {0: stale, 1: stale},
    )
    assert cluster.brokers[1].partition().is_leader
    assert cluster.brokers[1].manager.controller_epoch == 3
    assert cluster.stop_replica(1, delete=True).error_code == stale


def test_another_topic_of_the_same_name(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cluster = cluster_of_one(tmp_path)
    lead_and_follow(cluster, state())
    other = bytes(reversed(TOPIC_ID))
    assert lead_and_follow(cluster, state(leader_epoch=1), topic_id=other) == (0, {0: Error.INCONSISTENT_TOPIC_ID})
    assert cluster.brokers[1].partition().leader_epoch == 0
    (record,) = (each for each in caplog.records if each.levelname == "ERROR")
    for part in (f"{TOPIC}-0", uuid_text(TOPIC_ID), uuid_text(other), "leader epoch=1"):
        assert part in record.getMessage()


def test_a_topic_gets_its_id_later(tmp_path: Path) -> None:
    cluster = cluster_of_one(tmp_path)
    lead_and_follow(cluster, state(), topic_id=ZERO_UUID)
    assert lead_and_follow(cluster, state()) == (0, {0: Error.NONE})
    assert cluster.brokers[1].partition().topic_id == TOPIC_ID
    log = cluster.brokers[1].logs.get(TopicPartition(TOPIC, 0))
    assert log is not None
    assert log.topic_id == TOPIC_ID


def test_a_follower_of_a_leader_that_is_not_alive_keeps_its_state(tmp_path: Path) -> None:
    cluster = cluster_of_one(tmp_path)
    lead_and_follow(cluster, state())
    cluster.view.alive.discard(2)
    assert lead_and_follow(cluster, state(2, leader_epoch=1)) == (0, {0: Error.NONE})
    assert (cluster.brokers[1].partition().is_leader, cluster.brokers[1].partition().leader_epoch) == (True, 0)


@pytest.mark.parametrize("version", range(8))
def test_leader_and_isr_at_every_version(tmp_path: Path, version: int) -> None:
    cluster = cluster_of_one(tmp_path)
    request_state = State(topic_name=TOPIC if version < 2 else "", leader=1, isr=[1], replicas=[1], is_new=version >= 1)
    request = LeaderAndIsrRequest(controller_epoch=1)
    if version < 2:
        request.ungrouped_partition_states = [request_state]
    else:
        request.topic_states = [
            LeaderAndIsrRequest.LeaderAndIsrTopicState(
                topic_name=TOPIC, topic_id=TOPIC_ID, partition_states=[request_state]
            )
        ]
    manager = cluster.brokers[1].manager
    response = over_the_wire(manager.become_leader_or_follower(over_the_wire(request, version), version), version)
    if version < 5:
        assert [(entry.topic_name, entry.error_code) for entry in response.partition_errors] == [(TOPIC, 0)]
    else:
        assert [topic.topic_id for topic in response.topics] == [TOPIC_ID]
    assert cluster.brokers[1].partition().is_leader


# -- StopReplica


@pytest.mark.parametrize(
    ("leader_epoch", "error"),
    [(-2, Error.NONE), (-1, Error.NONE), (6, Error.NONE), (5, Error.NONE), (4, Error.FENCED_LEADER_EPOCH)],
)
def test_a_replica_is_deleted_unless_the_leader_epoch_is_old(tmp_path: Path, leader_epoch: int, error: Error) -> None:
    cluster = cluster_of_one(tmp_path)
    lead_and_follow(cluster, state(leader_epoch=5))
    response = cluster.stop_replica(1, delete=True, leader_epoch=leader_epoch)
    assert [entry.error_code for entry in response.partition_errors] == [error]
    there = cluster.brokers[1].logs.get(TopicPartition(TOPIC, 0)) is not None
    assert there is (error is not Error.NONE)
    assert (cluster.brokers[1].manager.partition(TOPIC, 0) is not None) is there


def test_stopping_without_deleting_keeps_the_log(tmp_path: Path) -> None:
    cluster = cluster_of_one(tmp_path)
    lead_and_follow(cluster, state(2))
    assert len(cluster.brokers[1].manager.fetchers) == 1
    assert cluster.stop_replica(1, delete=False, leader_epoch=0).partition_errors[0].error_code == 0
    assert len(cluster.brokers[1].manager.fetchers) == 0
    assert cluster.brokers[1].logs.get(TopicPartition(TOPIC, 0)) is not None


def test_unknown_partitions_are_fine_and_their_logs_go(tmp_path: Path) -> None:
    cluster = cluster_of_one(tmp_path)
    lead_and_follow(cluster, state())
    cluster.kill(1)
    cluster.start(1)
    assert cluster.brokers[1].manager.partition(TOPIC, 0) is None
    assert cluster.stop_replica(1, delete=True).partition_errors[0].error_code == 0
    assert cluster.brokers[1].logs.get(TopicPartition(TOPIC, 0)) is None
    assert cluster.stop_replica(1, delete=True).partition_errors[0].error_code == 0


@pytest.mark.parametrize("version", range(5))
def test_stop_replica_at_every_version(tmp_path: Path, version: int) -> None:
    cluster = cluster_of_one(tmp_path)
    lead_and_follow(cluster, state())
    request = StopReplicaRequest(controller_epoch=1)
    if version == 0:
        request.delete_partitions = True
        request.ungrouped_partitions = [StopReplicaRequest.StopReplicaPartitionV0(topic_name=TOPIC, partition_index=0)]
    elif version < 3:
        request.delete_partitions = True
        request.topics = [StopReplicaRequest.StopReplicaTopicV1(name=TOPIC, partition_indexes=[0])]
    else:
        stop = StopReplicaRequest.StopReplicaPartitionState(partition_index=0, leader_epoch=-2, delete_partition=True)
        request.topic_states = [StopReplicaRequest.StopReplicaTopicState(topic_name=TOPIC, partition_states=[stop])]
    manager = cluster.brokers[1].manager
    response: StopReplicaResponse = over_the_wire(
        manager.stop_replica(over_the_wire(request, version), version), version
    )
    assert [(e.topic_name, e.partition_index, e.error_code) for e in response.partition_errors] == [(TOPIC, 0, 0)]
    assert cluster.brokers[1].logs.get(TopicPartition(TOPIC, 0)) is None


@pytest.mark.spec("C5")
def test_others_are_served_between_two_partitions(tmp_path: Path) -> None:
    cluster = cluster_of_one(tmp_path)
    manager = cluster.brokers[1].manager
    led_after: list[int] = []

    def instruction() -> None:
        lead_and_follow(cluster, *(state(index=index) for index in range(3)))

    work = CooperativeTask(instruction)
    while not work.dead:
        work.switch()
        led_after.append(sum(manager.current_leader(TOPIC, index)[0] == 1 for index in range(3)))
    assert sorted(set(led_after)) == [0, 1, 2, 3]


def test_batches_queued_between_two_partitions_are_below_the_new_leader_epoch(tmp_path: Path) -> None:
    cluster = cluster_of_one(tmp_path)
    manager = cluster.brokers[1].manager
    lead_and_follow(cluster, *(state(index=index) for index in range(2)))
    work = CooperativeTask(
        lambda: lead_and_follow(cluster, *(state(leader_epoch=1, index=index) for index in range(2)))
    )
    work.switch()  # no partition has changed yet
    result = manager.append([((TOPIC, 1), batch_of(b"between"))], 1, 1_000)
    while not work.dead:
        work.switch()
    partition = manager.partition(TOPIC, 1)
    assert partition is not None
    assert partition.log is not None
    assert (result.is_done, result.appends[0].base_offset, partition.leader_epoch_start_offset) == (True, 0, 1)


def test_no_record_bears_an_epoch_that_has_ended_before_it(tmp_path: Path) -> None:
    """Otherwise a follower would find that its log diverges, truncate it, and fetch the same record again for ever."""
    cluster = cluster_of_one(tmp_path)
    manager = cluster.brokers[1].manager
    lead_and_follow(cluster, state())
    for leader_epoch in (1, 2):
        work = CooperativeTask(partial(lead_and_follow, cluster, state(leader_epoch=leader_epoch)))
        while not work.dead:
            manager.append([((TOPIC, 0), batch_of(b"meanwhile"))], 1, 1_000)
            work.switch()
    manager.append([((TOPIC, 0), batch_of(b"after"))], 1, 1_000)
    partition = manager.partition(TOPIC, 0)
    assert partition is not None
    log = partition.log
    assert log is not None
    log.flush_appends()
    [segment] = tmp_path.rglob("*.log")
    borne = {each.base_offset: each.partition_leader_epoch for each in iter_batch_headers(segment.read_bytes())}
    assert set(borne.values()) == {0, 1, 2}
    assert borne == {offset: log.body.epochs.epoch_of(offset) for offset in borne}


def test_a_closed_broker_executes_no_instructions(tmp_path: Path) -> None:
    cluster = cluster_of_one(tmp_path)
    manager = cluster.brokers[1].manager
    work = CooperativeTask(lambda: lead_and_follow(cluster, *(state(index=index) for index in range(2))))
    work.switch()
    manager.close()
    while not work.dead:
        work.switch()
    assert [manager.current_leader(TOPIC, index) for index in range(2)] == [(-1, -1), (-1, -1)]
    assert not list(tmp_path.rglob("*.log"))


def asked_for_log_ends(cluster: MemoryCluster, *states: State) -> dict[int, tuple[int, int] | None]:
    topic = LeaderAndIsrRequest.LeaderAndIsrTopicState(
        topic_name=TOPIC, topic_id=TOPIC_ID, partition_states=list(states)
    )
    request = LeaderAndIsrRequest(controller_epoch=1, topic_states=[topic])
    response = cluster.brokers[1].manager.become_leader_or_follower(over_the_wire(request, 7), 7)
    decoded: LeaderAndIsrResponse = over_the_wire(response, 7)
    return {each.partition_index: own_tags.log_end(each) for each in decoded.topics[0].partition_errors}


@pytest.mark.spec("D3")
def test_without_a_leader_the_response_has_the_log_end(tmp_path: Path) -> None:
    cluster = cluster_of_one(tmp_path)
    cluster.create([1])
    cluster.produce(1, b"x", b"y")
    cluster.run()
    offline, missing, led = state(-1, 1), state(-1, 1, index=1), state(1, 0, index=2)
    missing.is_new = False
    assert asked_for_log_ends(cluster, offline, missing, led) == {0: (0, 2), 1: (-1, -1), 2: None}
    # No log was created: an empty log would look like one that lost nothing.
    assert cluster.brokers[1].logs.get(TopicPartition(TOPIC, 1)) is None
    assert asked_for_log_ends(cluster, missing) == {1: (-1, -1)}
