"""From ElectLeaders sent to the new leader accepting a produce, with an idle and with a saturated data plane (SPEC C5).

The measurement and the load are those of Apache Kafka's own figures: the replicas of one partition get another order,
then the preferred leader is elected; a produce request for one record is sent at once to the new leader's client
listener. Load: 24 connections to the brokers that lead six partitions, each with one batch of 1 MB in flight, acks=1.
For ours also: the part of that time between the controller's decision and the brokers' responses that it is applied.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench import frames
from bench.c_programs import Load
from bench.kafka.sides import Line, Side, metadata
from bench.table import Row, at_most
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from signalbox.protocol.messages.elect_leaders import ElectLeadersRequest
from signalbox.protocol.messages.produce import ProduceRequest

_TOPIC, _LOAD_TOPIC, _LOAD_PARTITIONS = "moves", "load", 6
_BATCH_BYTES, _RECORDS, _CONNECTIONS = 1_048_576, 1_000, 8
_REASSIGN_VERSION, _ELECT_VERSION, _PRODUCE_VERSION = 0, 2, 9
_SETTLED_S, _FOREVER_S, _WARM_S = 30.0, 3_600.0, 2.0
_BOUND = 3.0
_TRACED = {"p50": 0.5, "p99": 0.99}
_NO_NEED = 84  # ELECTION_NOT_NEEDED: it is the leader already


class Moves:
    """Leadership of one partition, moved around a running cluster."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self._lines = {node_id: Line(address) for node_id, address in side.addresses.items()}
        self._nodes = sorted(side.addresses)
        self._record = frames.plain(frames.batch_of(180, 1))
        self._moved = 0

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


@contextmanager
def saturated(side: Side) -> Iterator[None]:
    """Every broker's data plane is saturated inside the block."""
    batch = frames.batch_of(_BATCH_BYTES, _RECORDS)
    led: dict[int, int] = {}
    for partition in metadata(side.addresses[1], [_LOAD_TOPIC]).topics[0].partitions:
        led.setdefault(partition.leader_id, partition.partition_index)
    processes = []
    for node_id, index in led.items():
        frame = frames.produce(_LOAD_TOPIC, batch, _RECORDS, 1, index=index)
        load = Load(f"leadership-{node_id}", frame, _CONNECTIONS)
        processes.append(load.start(side.addresses[node_id][1], _FOREVER_S))
    try:
        time.sleep(_WARM_S)
        yield
        if any(process.poll() is not None for process in processes):
            raise RuntimeError(f"{side.name}: the load has ended by itself")
    finally:
        for process in processes:
            process.terminate()
            process.communicate()


def leadership_rows(side: Side, changes: int, bounded: bool) -> Iterator[Row]:
    """Starts, moves leadership `changes` times idle and as often loaded, stops. `bounded`: the ratio has a bound."""
    try:
        side.start()
        side.create_topic(_TOPIC, 1, 3)
        side.create_topic(_LOAD_TOPIC, _LOAD_PARTITIONS, 1)
        moves = Moves(side)
        moves.milliseconds(max(3, changes // 10))
        idle, traced_idle = moves.milliseconds(changes), _traced(side)
        with saturated(side):
            loaded = moves.milliseconds(changes)
        traced = _traced(side)
        moves.close()
    finally:
        side.stop()
    name = f"{side.name}: ElectLeaders to accepted produce"
    for label, share, bound in (("p50", 0.5, None), ("p99", 0.99, _BOUND if bounded else None)):
        at = min(len(idle) - 1, int(len(idle) * share))
        yield at_most(f"{name}, saturated / idle, {label}, ms", loaded[at], idle[at], bound)
    for label, ours, theirs in zip(_TRACED, traced, traced_idle, strict=True):
        if ours is not None and theirs is not None:
            yield at_most(f"{side.name}: decision to LeaderAndIsr applied, {label}, ms", ours, theirs, None)


def _traced(side: Side) -> list[float | None]:
    return [side.until_applied_ms(share) for share in _TRACED.values()]
