"""The clusters of the drill: three brokers, and another cluster of one broker that has the same topic."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack
from typing import Self

from signalbox.common.ids import TopicPartition
from signalbox.testing.drill.drill_client import PARTITIONS, TOPIC
from signalbox.testing.faults.fault import Fault, address_line
from signalbox.testing.kafka_cluster.cluster_options import ClusterOptions
from signalbox.testing.kafka_cluster.kafka_cluster import KafkaCluster
from signalbox.testing.switchboard_line import Target
from signalbox.testing.switchboard_rewrite import WireRewrite

NODES = (1, 2, 3)
_LEADERS = dict(enumerate(NODES))
_ELECTION_TIMEOUT_S = 60.0
_ELECTION_PAUSE_S = 0.02


class DrillGround:
    """Partition 0 is led by broker 1, partition 1 by broker 2, partition 2 by broker 3."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            topics = {TOPIC: PARTITIONS}
            self.cluster = stack.enter_context(KafkaCluster(ClusterOptions(topics=topics)))
            self.other = stack.enter_context(KafkaCluster(ClusterOptions(brokers=1, topics=topics)))
            self.moved = {node: self.cluster.switchboard.add_line(_moved_line(node)) for node in NODES}
            for node in NODES:
                self.cluster.switchboard.set_home(_moved_line(node), self.cluster.target(node))
            self._hide_moved()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def apply(self, stack: ExitStack, *faults: Fault) -> None:
        """Applies faults until the end of the stack."""
        stack.enter_context(self.cluster.faults(*faults))

    def cut_all(self) -> None:
        """Cuts every open connection of clients."""
        self.cluster.switchboard.sever()

    def show_moved(self, stack: ExitStack) -> dict[int, Target]:
        """Opens an address more for each broker until the end of the stack, whose Metadata has these addresses."""
        board = self.cluster.switchboard
        for node in NODES:
            board.restore(_moved_line(node))
            board.rewrite(_moved_line(node), WireRewrite(addresses=self.moved))
        stack.callback(self._hide_moved)
        return self.moved

    def reset(self) -> None:
        """Takes every fault back, and makes each broker the leader of its partition again."""
        self.cluster.heal()
        self.cluster.forget_requests()
        self.elect_preferred()

    def elect_preferred(self) -> None:
        """Elects the preferred leader of each partition, as soon as it is in sync. RuntimeError if that fails."""
        partitions = [TopicPartition(TOPIC, partition) for partition in range(PARTITIONS)]
        deadline = time.monotonic() + _ELECTION_TIMEOUT_S
        while (leaders := self.cluster.topics.leaders(TOPIC)) != _LEADERS:
            if time.monotonic() > deadline:
                raise RuntimeError(f"the leaders are {leaders}, not {_LEADERS}")
            self.cluster.client.call(self.cluster.client.admin.elect_leaders, partitions)
            time.sleep(_ELECTION_PAUSE_S)

    def stored(self) -> Counter[bytes]:
        """How often each value is in the topic."""
        return _values(self.cluster)

    def misplaced(self) -> Counter[bytes]:
        """How often each value is in the topic of the other cluster."""
        return _values(self.other)

    def _hide_moved(self) -> None:
        for node in NODES:
            self.cluster.switchboard.refuse_connections(_moved_line(node))


def _moved_line(node: int) -> str:
    return f"moved-{address_line(node)}"


def _values(cluster: KafkaCluster) -> Counter[bytes]:
    partitions = cluster.topics.records(TOPIC).values()
    return Counter(record.value for records in partitions for record in records if record.value is not None)
