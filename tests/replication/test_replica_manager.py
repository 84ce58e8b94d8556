"""The door as a whole: produce to fetch over three replica managers, leader changes, kills."""

from __future__ import annotations

from pathlib import Path

from signalbox.protocol.error_table import Error
from tests.replication.memory_cluster import MemoryCluster


def test_a_record_goes_to_all_replicas_and_is_answered(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path)
    cluster.create([1, 2, 3])
    cluster.run()
    outcome = cluster.produce(1, b"AA 1")
    assert not outcome.done
    cluster.run()
    [ticket] = outcome.value
    assert (ticket.error, ticket.base_offset) == (Error.NONE, 0)
    data, values = cluster.consume(1)
    assert values == [b"AA 1"]
    assert data.high_watermark == 1
    assert cluster.brokers[2].content() == cluster.brokers[3].content() == cluster.brokers[1].content() != b""


def test_acks_one_is_answered_when_the_turn_ends(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path)
    cluster.create([1, 2, 3])
    cluster.run()
    cluster.cut = {(2, 1), (3, 1)}
    outcomes = [cluster.produce(1, b"x", acks=1) for _ in range(3)]
    assert not any(outcome.done for outcome in outcomes)
    cluster.brokers[1].turns.end()
    assert [outcome.value[0].base_offset for outcome in outcomes] == [0, 1, 2]


def test_the_next_leader_has_everything_that_was_acknowledged(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, min_insync_replicas=2)
    cluster.create([1, 2, 3])
    cluster.run()
    for number in range(5):
        outcome = cluster.produce(1, b"%d" % number)
        cluster.run()
        assert outcome.value[0].error == Error.NONE
    cluster.kill(1)
    cluster.elect(2)
    cluster.run()
    cluster.produce(2, b"5")
    cluster.run()
    _, values = cluster.consume(2)
    assert values == [b"0", b"1", b"2", b"3", b"4", b"5"]
    cluster.start(1)
    cluster.tell_one(1)
    cluster.run()
    assert cluster.brokers[1].content() == cluster.brokers[2].content()
    assert cluster.view.rows[cluster.brokers[2].partition().topic_partition].isr == [2, 3, 1]
