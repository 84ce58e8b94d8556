"""Faults of a `MemoryCluster`, as actions that Hypothesis can draw: kills, elections, cut connections, time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from signalbox.common.ids import TopicPartition
from tests.replication.memory_cluster import TOPIC, MemoryCluster
from tests.replication.memory_view import PartitionRow

BROKERS = (1, 2, 3)
Action = tuple[str, Any, Any]

brokers = st.sampled_from(BROKERS)


def faults(partitions: int) -> st.SearchStrategy[Action]:
    """One action of a `FaultHistory` with that many partitions."""
    return st.one_of(
        st.tuples(st.just("deliver"), st.integers(1, 12), st.none()),
        st.tuples(st.just("run"), st.none(), st.none()),
        st.tuples(st.just("kill"), brokers, st.none()),
        st.tuples(st.just("start"), brokers, st.none()),
        st.tuples(st.just("elect"), brokers, st.integers(0, partitions - 1)),
        st.tuples(st.just("cut"), brokers, brokers),
        st.tuples(st.just("heal"), st.none(), st.none()),
        st.tuples(st.just("wait"), st.sampled_from([20, 600, 40_000]), st.none()),
    )


class FaultHistory:
    """Runs actions."""

    def __init__(self, folder: Path, partitions: int) -> None:
        self.cluster = MemoryCluster(folder, BROKERS, min_insync_replicas=2)
        self.partitions = partitions
        self.cluster.create([1, 2, 3], partitions=partitions)
        self.cluster.run()

    def row(self, index: int) -> PartitionRow:
        return self.cluster.view.rows[TopicPartition(TOPIC, index)]

    def do(self, action: Action) -> None:
        getattr(self, action[0])(*action[1:])

    def deliver(self, count: int, _: None) -> None:
        for _unused in range(count):
            if self.cluster.mail:
                self.cluster.mail.popleft()()
            for broker in list(self.cluster.brokers.values()):
                broker.iterations.end()

    def run(self, *_: None) -> None:
        self.cluster.run()

    def kill(self, broker_id: int, _: None) -> None:
        if broker_id in self.cluster.brokers:
            self.cluster.kill(broker_id)

    def start(self, broker_id: int, _: None) -> None:
        if broker_id not in self.cluster.brokers:
            self.cluster.start(broker_id)
            self.cluster.tell_one(broker_id)

    def elect(self, broker_id: int, index: int) -> None:
        """Elects the broker if it is running and in the ISR. Otherwise does nothing."""
        if broker_id in self.row(index).isr and broker_id in self.cluster.brokers:
            self.cluster.elect(broker_id, index)

    def cut(self, sender: int, receiver: int) -> None:
        self.cluster.cut.add((sender, receiver))

    def heal(self, *_: None) -> None:
        self.cluster.cut.clear()

    def wait(self, ms: int, _: None) -> None:
        self.cluster.advance(ms, step_ms=max(20, ms // 20))

    def restore(self) -> None:
        """Starts and connects all brokers, and elects leaders."""
        cluster = self.cluster
        cluster.cut.clear()
        for broker_id in BROKERS:
            self.start(broker_id, None)
        for index in range(self.partitions):
            cluster.elect(self.row(index).isr[0], index)
        cluster.run()
        cluster.advance(3_000)

    def close(self) -> None:
        for broker_id in list(self.cluster.brokers):
            self.cluster.kill(broker_id)
