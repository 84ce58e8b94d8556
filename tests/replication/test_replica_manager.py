"""The public API of replication: produce to fetch over three replica managers, leader changes, kills."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.replication.ports import TopicSettings
from signalbox.storage.log_config import LogConfig
from tests.replication.memory_cluster import TOPIC, MemoryCluster

pytestmark = pytest.mark.spec("D3")


def test_a_record_goes_to_all_replicas_and_is_answered(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path)
    cluster.create([1, 2, 3])
    cluster.run()
    result = cluster.produce(1, b"AA 1")
    assert not result.is_done
    cluster.run()
    [append] = result.result()
    assert (append.error, append.base_offset) == (Error.NONE, 0)
    data, values = cluster.consume(1)
    assert values == [b"AA 1"]
    assert data.high_watermark == 1
    assert cluster.brokers[2].content() == cluster.brokers[3].content() == cluster.brokers[1].content() != b""


def test_acks_one_completes_when_the_iteration_ends(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path)
    cluster.create([1, 2, 3])
    cluster.run()
    cluster.cut = {(2, 1), (3, 1)}
    results = [cluster.produce(1, b"x", acks=1) for _ in range(3)]
    assert not any(result.is_done for result in results)
    cluster.brokers[1].iterations.end()
    assert [result.result()[0].base_offset for result in results] == [0, 1, 2]


def test_the_next_leader_has_everything_that_was_acknowledged(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, min_insync_replicas=2)
    cluster.create([1, 2, 3])
    cluster.run()
    for number in range(5):
        result = cluster.produce(1, b"%d" % number)
        cluster.run()
        assert result.result()[0].error == Error.NONE
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


def test_a_broker_that_was_paused_does_not_blame_its_followers(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path)
    cluster.create([1, 2, 3])
    cluster.run()
    cluster.advance(20_000, step_ms=500)
    leader = cluster.brokers[1]
    cluster.produce(1, b"x", acks=1)
    leader.iterations.end()
    cluster.clock.advance(60_000)
    leader.timers.run_due()
    assert leader.partition().maximal_isr == leader.partition().isr_state.maximal == frozenset({1, 2, 3})
    assert leader.partition().isr_state.pending is None
    cluster.run()
    cluster.cut = {(2, 1)}
    cluster.kill(2)
    cluster.produce(1, b"y", acks=1)
    cluster.advance(70_000, step_ms=500)
    assert leader.partition().isr == (1, 3)


def test_configs_of_a_topic_arrive(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.create([1])
    cluster.configs.topic = TopicSettings(min_insync_replicas=1, deletes_records=False)
    cluster.configs.log = LogConfig(max_message_bytes=100)
    cluster.brokers[1].manager.update_topic_config(TOPIC)
    result = cluster.produce(1, b"x" * 200)
    cluster.run()
    assert result.result()[0].error == Error.MESSAGE_TOO_LARGE
    assert not cluster.brokers[1].partition().settings.deletes_records


def test_defaults_of_topic_configs_arrive_at_every_partition(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.create([1])
    cluster.tell()
    cluster.configs.topic = TopicSettings(min_insync_replicas=2)
    cluster.configs.log = LogConfig(retention_ms=5)
    cluster.brokers[1].manager.update_topic_defaults()
    partition = cluster.brokers[1].partition()
    assert partition.settings.min_insync_replicas == 2
    assert partition.log is not None
    assert partition.log.config.retention_ms == 5


def test_configs_changed_while_the_log_was_not_hosted_are_applied(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path, [1])
    cluster.create([1])
    cluster.tell()
    cluster.kill(1)
    cluster.start(1)
    cluster.configs.log = LogConfig(retention_ms=5)
    cluster.tell_one(1)
    log = cluster.brokers[1].partition().log
    assert log is not None
    assert log.config.retention_ms == 5


def test_high_watermarks_survive_a_restart(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path)
    cluster.create([1, 2, 3])
    for _ in range(3):
        cluster.produce(1, b"x")
        cluster.run()
    cluster.advance(5_000)
    cluster.kill(3)
    cluster.start(3)
    log = cluster.brokers[3].logs.get(TopicPartition(TOPIC, 0))
    assert log is not None
    assert (log.high_watermark, log.log_end_offset) == (3, 3)


def test_a_closed_manager_does_no_periodic_work(tmp_path: Path) -> None:
    cluster = MemoryCluster(tmp_path)
    cluster.create([1, 2, 3])
    cluster.run()
    for broker in cluster.brokers.values():
        broker.manager.close()
        assert broker.timers.armed == []
    cluster.run()
    assert not cluster.brokers[1].manager.scheduler.deadlines
