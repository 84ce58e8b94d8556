"""Replication throttles (KIP-73): replicas that catch up are copied at the configured rate, others without a limit."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from signalbox.common.clock import ManualClock
from signalbox.replication.config_rows import REPLICATION_CONFIG, ReplicationConfig
from signalbox.replication.throttle import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    MOVE_RATE,
    Throttles,
)
from signalbox.storage.directories.log_move import MoveThrottle
from tests.replication.memory_cluster import TOPIC, MemoryCluster

pytestmark = pytest.mark.spec("D3")
SIZE = 1_000  # bytes per record
RECORDS = 30


def values(**changes: int) -> dict[str, Any]:
    """The throttle configs of a broker. By default the window allows a burst of one second's rate."""
    keys = {
        "num": "replication.quota.window.num",
        "leader": LEADER_RATE,
        "follower": FOLLOWER_RATE,
        "move_num": "alter.log.dirs.replication.quota.window.num",
        "moves": MOVE_RATE,
    }
    read, faults = REPLICATION_CONFIG.read(
        {keys[set_partitions]: str(value) for set_partitions, value in {"num": 2, **changes}.items()}
    )
    assert faults == []
    return dict(read)


def throttles(clock: ManualClock, **changes: int) -> Throttles:
    made = Throttles.of(1, clock.monotonic, MoveThrottle(clock.monotonic))
    made.apply_rates(values(**changes))
    return made


def test_whose_copying_counts() -> None:
    made = throttles(ManualClock(), leader=100)
    made.apply_topic("t", {LEADER_REPLICAS: "0:1,1:2,2:1", FOLLOWER_REPLICAS: "*"})
    made.apply_topic("none", {"retention.ms": "5"})
    assert [made.leader.covers("t", partition) for partition in range(4)] == [True, False, True, False]
    assert [made.follower.covers("t", partition) for partition in (0, 99)] == [True, True]
    assert not made.leader.covers("none", 0)
    made.apply_topic("t", {})
    assert not made.leader.covers("t", 0)
    assert not made.follower.covers("t", 0)


def test_moves_have_a_rate_and_windows_of_their_own() -> None:
    made = throttles(ManualClock(), moves=100, move_num=3)
    made.moves.record(200)
    assert not made.moves.delays(lambda: None), "two seconds' worth at once"
    made.moves.record(1)
    assert made.moves.delays(lambda: None)
    made.apply_rates(values(leader=5))
    assert not made.moves.delays(lambda: None), "no rate is set any more"


def test_an_invalid_stored_config_is_logged_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    made = throttles(ManualClock(), leader=100)
    made.apply_topic("t", {LEADER_REPLICAS: "everybody"})
    assert not made.leader.covers("t", 0)
    assert LEADER_REPLICAS in caplog.text


def test_beyond_the_rate_until_the_debt_is_paid() -> None:
    clock = ManualClock()
    made = throttles(clock, leader=100)
    made.apply_topic("t", {LEADER_REPLICAS: "*"})
    assert (made.leader.is_set, made.follower.is_set) == (True, False)
    made.leader.record("t", 0, 100)
    assert not made.leader.is_throttled("t", 0), "a second's worth at once"
    made.leader.record("t", 1, 100)
    made.leader.record("other", 0, 1_000_000)
    assert made.leader.is_throttled("t", 0)
    assert not made.leader.is_throttled("other", 0)
    assert made.leader.wait_ms() == 500
    clock.advance(1_000)
    assert not made.leader.is_throttled("t", 0)
    made.leader.record("t", 0, 1_000)
    made.apply_rates(values())
    assert not made.leader.is_throttled("t", 0), "no rate, no throttle"
    assert (made.leader.is_set, made.follower.is_set) == (False, False)


def catching_up(tmp_path: Path, leader: int | None = None, follower: int | None = None) -> MemoryCluster:
    """Broker 1 leads with thirty records. Broker 2 was away and has none of them."""
    cluster = MemoryCluster(tmp_path, [1, 2], ReplicationConfig(fetch_partition_max_bytes=SIZE))
    cluster.cut |= {(1, 2), (2, 1)}
    cluster.create([1, 2])
    cluster.elect(1, isr=[1])
    for number in range(RECORDS):
        cluster.produce(1, bytes([number]) * SIZE, acks=1)
    cluster.run()
    for broker_id, rates in ((1, {"leader": leader}), (2, {"follower": follower})):
        made = cluster.brokers[broker_id].manager.throttles
        made.apply_rates(values(**{set_partitions: rate for set_partitions, rate in rates.items() if rate is not None}))
        made.apply_topic(TOPIC, {LEADER_REPLICAS: "0:1", FOLLOWER_REPLICAS: "0:2"})
    cluster.cut.clear()
    return cluster


def copied(cluster: MemoryCluster) -> int:
    log = cluster.brokers[2].partition().log
    assert log is not None
    return log.log_end_offset


def test_without_a_rate_it_takes_no_time(tmp_path: Path) -> None:
    cluster = catching_up(tmp_path)
    cluster.advance(2_000)
    assert copied(cluster) == RECORDS


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_replica_that_catches_up_is_copied_at_the_rate(tmp_path: Path, side: str) -> None:
    cluster = catching_up(tmp_path, **{side: 3 * SIZE})
    seen = []
    for _ in range(14):
        cluster.advance(1_000)
        seen.append(copied(cluster))
    steps = [after - before for before, after in pairwise(seen) if after < RECORDS]
    assert steps
    assert all(step <= 5 for step in steps), seen
    assert seen[-1] == RECORDS, "and at last it has everything"
    assert cluster.brokers[1].partition().isr == (1, 2)


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_in_sync_replicas_are_never_throttled(tmp_path: Path, side: str) -> None:
    cluster = catching_up(tmp_path, **{side: 3 * SIZE})
    cluster.advance(20_000)
    assert cluster.brokers[1].partition().isr == (1, 2)
    for number in range(20):
        cluster.produce(1, bytes([number]) * SIZE, acks=1)
    cluster.advance(200)
    assert copied(cluster) == RECORDS + 20
