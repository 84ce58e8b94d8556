"""Random kills, cut connections, elections and partly delivered messages: records acknowledged with acks=all survive.

After every history the cluster is restored. Then each acknowledged record is at its offset, and all replicas have the
same bytes up to the high watermark.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signalbox.protocol.error_table import Error
from signalbox.protocol.records.record_batch import decode_records
from signalbox.replication.follower import followed_partition
from signalbox.replication.follower.truncation import EpochLog, truncation_offset
from tests.replication.fault_history import BROKERS, FaultHistory, faults
from tests.replication.memory_cluster import TOPIC

pytestmark = pytest.mark.spec("D3")

actions = st.one_of(
    st.tuples(st.just("produce"), st.sampled_from([-1, -1, 1]), st.integers(1, 4)),
    st.tuples(st.just("produce"), st.sampled_from([-1, -1, 1]), st.integers(1, 4)),
    faults(partitions=2),
)


class History(FaultHistory):
    """Keeps the results of the produce requests with acks=all."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, partitions=2)
        self.results: list[tuple[int, list[bytes], Any]] = []
        self.number = 0

    def produce(self, acks: int, count: int) -> None:
        """Sends to every broker that considers itself the leader: clients may have old metadata."""
        index = self.number % 2
        for broker in list(self.cluster.brokers.values()):
            partition = broker.manager.partition(TOPIC, index)
            if partition is not None and partition.is_leader:
                values = [b"%d" % (self.number + further) for further in range(count)]
                self.number += count
                result = self.cluster.produce(broker.broker_id, *values, acks=acks, index=index, timeout_ms=5_000)
                if acks == -1:
                    self.results.append((index, values, result))
                broker.iterations.end()

    def check(self, index: int) -> None:
        cluster = self.cluster
        leader = cluster.brokers[self.row(index).leader]
        partition = leader.partition(index)
        assert sorted(self.row(index).isr) == sorted(partition.isr) == list(BROKERS)
        assert partition.high_watermark == partition.local_log().log_end_offset
        stored = {record.offset: record.value for record in decode_records(leader.content(index))}
        for written_to, values, result in self.results:
            if written_to == index and result.is_done and result.result()[0].error == Error.NONE:
                base_offset = result.result()[0].base_offset
                assert [stored.get(base_offset + further) for further in range(len(values))] == values
        contents = {broker.content(index, partition.high_watermark) for broker in cluster.brokers.values()}
        assert len(contents) == 1


@given(st.lists(actions, min_size=5, max_size=40))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_acknowledged_records_survive(history: list[tuple[str, Any, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = History(Path(folder))
        for action in history:
            run.do(action)
        run.restore()
        run.check(0)
        run.check(1)
        run.close()


def test_a_truncation_that_is_off_by_one_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a history must fail then, and not run for ever."""

    def off_by_one(log: EpochLog, leader_epoch: int, leader_end_offset: int) -> int:
        return truncation_offset(log, leader_epoch, leader_end_offset) + 1

    monkeypatch.setattr(followed_partition, "truncation_offset", off_by_one)
    run = History(tmp_path)
    run.cut(2, 1)
    run.cut(3, 1)
    run.produce(-1, 1)  # reaches no follower
    run.kill(1, None)
    run.cluster.elect(2, 0, isr=[2, 3])
    run.produce(-1, 1)
    run.produce(-1, 1)
    run.run()
    with pytest.raises(AssertionError):
        restore_and_check(run)
    run.close()


def restore_and_check(run: History) -> None:
    run.restore()
    run.check(0)
