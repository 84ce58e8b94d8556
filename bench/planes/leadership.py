"""From ElectLeaders sent to the new leader accepting a produce (SPEC C5).

The replicas of one partition get another order, then the preferred leader is elected; a produce request for one record
is sent at once to the new leader's client listener.
"""

from __future__ import annotations

import time

from bench import frames
from bench.kafka.sides import Line, Side, metadata
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest
from signalbox.protocol.messages.produce import ProduceRequest

_TOPIC = "moves"
_REASSIGN_VERSION, _ELECT_VERSION, _PRODUCE_VERSION = 0, 2, 9
_SETTLED_S = 30.0
_NO_NEED = 84  # ELECTION_NOT_NEEDED: it is the leader already


class Moves:
    """Leadership of one partition of a topic of its own, moved around a running cluster."""

    def __init__(self, side: Side) -> None:
        side.create_topic(_TOPIC, 1, 3)
        self._side = side
        self._lines = {node_id: Line(address) for node_id, address in side.addresses.items()}
        self._nodes = sorted(side.addresses)
        self._record = frames.plain(frames.batch_of(180, 1))

    def milliseconds(self, count: int) -> list[float]:
        """The durations of `count` changes, sorted."""
        return sorted(self._move() for _ in range(count))

    def close(self) -> None:
        for line in self._lines.values():
            line.close()

    def _move(self) -> float:
        leader = self._side.leader(_TOPIC)
        at = (self._nodes.index(leader) + 1) % len(self._nodes)
        order = self._nodes[at:] + self._nodes[:at]
        controller = Line(self._side.controller)
        self._reorder(controller, order)
        partitions = [ElectLeadersRequest.TopicPartitions(topic=_TOPIC, partitions=[0])]
        elect = ElectLeadersRequest(election_type=0, topic_partitions=partitions, timeout_ms=30_000)
        began = time.monotonic()
        controller.send(ApiKey.ELECT_LEADERS, _ELECT_VERSION, elect)
        taken_ms = self._until_accepted(order[0], began)
        answer = controller.answer(ApiKey.ELECT_LEADERS, _ELECT_VERSION)
        codes = {
            answer.error_code,
            *(each.error_code for t in answer.replica_election_results for each in t.partition_result),
        }
        if codes - {0, _NO_NEED}:
            raise RuntimeError(f"{self._side.name}: ElectLeaders was answered {codes}")
        controller.close()
        return taken_ms

    def _reorder(self, controller: Line, order: list[int]) -> None:
        body = AlterPartitionReassignmentsRequest
        topic = body.ReassignableTopic(
            name=_TOPIC, partitions=[body.ReassignablePartition(partition_index=0, replicas=order)]
        )
        answer = controller.ask(
            ApiKey.ALTER_PARTITION_REASSIGNMENTS, _REASSIGN_VERSION, body(topics=[topic], timeout_ms=30_000)
        )
        code = answer.error_code or answer.responses[0].partitions[0].error_code
        if code:
            raise RuntimeError(f"{self._side.name}: the new order was rejected with {code}")
        deadline = time.monotonic() + _SETTLED_S
        while not all(self._shows(address, order) for address in self._side.addresses.values()):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self._side.name}: the new order is not known after {_SETTLED_S:.0f} s")
            time.sleep(0.01)

    def _shows(self, address: tuple[str, int], order: list[int]) -> bool:
        [partition] = metadata(address, [_TOPIC]).topics[0].partitions
        return list(partition.replica_nodes) == order and set(partition.isr_nodes) == set(order)

    def _until_accepted(self, node_id: int, began: float) -> float:
        data = ProduceRequest.PartitionProduceData(index=0, records=self._record)
        request = ProduceRequest(
            acks=1, timeout_ms=30_000, topic_data=[ProduceRequest.TopicProduceData(name=_TOPIC, partition_data=[data])]
        )
        deadline = began + _SETTLED_S
        while True:
            answer = self._lines[node_id].ask(ApiKey.PRODUCE, _PRODUCE_VERSION, request)
            now = time.monotonic()
            if not answer.responses[0].partition_responses[0].error_code:
                return (now - began) * 1_000
            if now > deadline:
                raise RuntimeError(f"{self._side.name}: node {node_id} leads nothing after {_SETTLED_S:.0f} s")
