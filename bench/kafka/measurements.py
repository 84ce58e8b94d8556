"""What is measured at one side in one round. Each returns its figures by name, and loads only this side.

A load runs for a moment before it is measured: the pages of logs that were deleted since the last round may have gone
back to the hypervisor, and new ones cost several times as much.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench import frames
from bench.c_programs import Load
from bench.kafka.sides import Line, Side
from bench.processes import cpu_seconds, resident_mib
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.protocol.messages.produce import ProduceRequest

Figures = Mapping[str, float]
_CONNECTIONS = 50
_FETCH_BYTES, _FETCH_CONNECTIONS = 1_048_576, 4
_BATCH_BYTES, _BATCHES = 1_000_000, 16
_TOPIC_RESOURCE, _SET = 2, 0
_RAW_WARM_S = 0.3


@dataclass(frozen=True)
class Plan:
    """`rounds` of each measurement (`starts` of the nodes); durations of one round in seconds; `jit` of the load of
    each kind before the first round, which a JVM needs; `warm`: the same for a side without a JVM, and the seconds of
    each bulk client that do not count; `admin`: requests per node."""

    rounds: int
    starts: int
    jit: float
    idle: float
    small: float
    warm: float
    bulk: float
    admin: int


class Measurements:
    """The measurements of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._changes = 0  # each change of a config and each topic differs from those before

    def idle(self, side: Side) -> Figures:
        """`idle`: % of a core of all nodes; `memory`: MiB of one node."""
        before = side.cpu_seconds()
        time.sleep(self._plan.idle)
        used = (side.cpu_seconds() - before) / self._plan.idle * 100
        return {"idle": used, "memory": statistics.mean(resident_mib(pid) for pid in side.pids.values())}

    def prepare(self, side: Side) -> Figures:
        """Creates the topics, writes what is fetched, and sends load of every kind, that of small requests last."""
        for topic, partitions, replicas in (("rf1", 6, 1), ("rf3", 6, 3), ("read", 1, 3)):
            side.create_topic(topic, partitions, replicas)
        _write_batches(side, "read")
        port = side.addresses[side.leader("rf1")][1]
        seconds = self._plan.jit if side.compiles_at_run_time else self._plan.warm
        for topic in ("rf1", "rf3"):
            self._bulk("produce", side, topic, seconds, 0.1)
        self._bulk("endtoend", side, "rf3", seconds, 1.0)
        _fetches().run(side.addresses[side.leader("read")][1], seconds / 2)
        for load in (_api_versions(), _one_record()):
            load.run(port, seconds)
        return {}

    def api_versions(self, side: Side) -> Figures:
        """CPU µs of the leader per request."""
        return self._small("api versions", side, _api_versions())

    def one_record(self, side: Side) -> Figures:
        """CPU µs of the leader per request."""
        return self._small("one record", side, _one_record())

    def _small(self, name: str, side: Side, load: Load) -> Figures:
        node = side.leader("rf1")
        port, pid = side.addresses[node][1], side.pids[node]
        load.run(port, _RAW_WARM_S)
        before = cpu_seconds(pid)
        result = load.run(port, self._plan.small)
        return {name: (cpu_seconds(pid) - before) / result.answers * 1e6}

    def produce(self, topic: str) -> Callable[[Side], Figures]:
        """CPU s of all nodes per GB of acknowledged records, and MB/s."""

        def measured(side: Side) -> Figures:
            sent = self._bulk("produce", side, topic, self._plan.warm, self._plan.bulk)
            return {
                f"produce {topic}": sent["cpu_s"] / (sent["bytes"] / 1e9),
                f"rate {topic}": sent["bytes"] / sent["seconds"] / 1e6,
            }

        return measured

    def fetch(self, side: Side) -> Figures:
        """CPU s of the leader per GB, one megabyte at a time by raw sockets, the records discarded."""
        node = side.leader("read")
        port, pid = side.addresses[node][1], side.pids[node]
        load = _fetches()
        load.run(port, _RAW_WARM_S)
        before = cpu_seconds(pid)
        result = load.run(port, self._plan.small)
        if result.response_bytes < result.answers * _BATCH_BYTES:
            raise RuntimeError(f"{side.name}: {result.response_bytes} bytes in {result.answers} responses")
        return {"fetch": (cpu_seconds(pid) - before) / (result.response_bytes / 1e9)}

    def end_to_end(self, side: Side) -> Figures:
        """Milliseconds from `produce` to the consumer."""
        latency = self._bulk("endtoend", side, "rf3", self._plan.warm, self._plan.bulk)
        return {"end to end p50": latency["p50_ms"], "end to end p99": latency["p99_ms"]}

    def alter(self, side: Side) -> Figures:
        """p50 in ms."""
        return {"alter p50": self._admin(side, _alter)}

    def create(self, side: Side) -> Figures:
        """p50 in ms."""
        return {"create p50": self._admin(side, _create)}

    def _bulk(self, what: str, side: Side, topic: str, warm_s: float, seconds: float) -> dict[str, float]:
        return run_client(side, "bench.kafka.clients", what, side.bootstrap, topic, warm_s, seconds)

    def _admin(self, side: Side, request: Callable[[int], tuple[int, int, Any]]) -> float:
        """p50 in ms, one in flight, over the two slower nodes: the third is the active controller."""
        nodes: list[list[float]] = []
        for address in side.addresses.values():
            line = Line(address)
            taken = []
            for _ in range(self._plan.admin):
                self._changes += 1
                began = time.perf_counter()
                answer = line.ask(*request(self._changes))
                taken.append((time.perf_counter() - began) * 1000)
                rows = getattr(answer, "topics", None) or answer.responses
                if rejected := [row.error_message for row in rows if row.error_code]:
                    raise RuntimeError(f"{side.name}: a change was rejected: {rejected}")
            line.close()
            nodes.append(taken)
        slower = sorted(nodes, key=statistics.median)[1:]
        return statistics.median(value for values in slower for value in values)


def run_client(side: Side, module: str, *arguments: object) -> dict[str, float]:
    """The figures of a client in a process of its own, which prints `warm` before what counts; `cpu_s`: of all nodes
    while it was measured."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        warm = process.stdout.readline()
        before = side.cpu_seconds()
        line = process.stdout.readline()
        used = side.cpu_seconds() - before
    if process.returncode or warm.strip() != "warm":
        raise RuntimeError(f"{side.name}: the client {' '.join(command[2:])} ended with {process.returncode}")
    figures: dict[str, float] = json.loads(line)
    return {**figures, "cpu_s": used}


def _api_versions() -> Load:
    return Load("kafka-api-versions", frames.api_versions(), _CONNECTIONS)


def _one_record() -> Load:
    """acks=1 without a producer id, as in the reference figures of Apache Kafka."""
    return Load("kafka-produce-one", frames.produce("rf1", frames.batch_of(180, 1), 1, 1), _CONNECTIONS)


def _fetches() -> Load:
    return Load("kafka-fetch", frames.fetch("read", _FETCH_BYTES), _FETCH_CONNECTIONS)


def _write_batches(side: Side, name: str) -> None:
    """Batches of a megabyte in partition 0, less than retention deletes."""
    line = Line(side.addresses[side.leader(name)])
    data = ProduceRequest.PartitionProduceData(index=0, records=frames.plain(frames.batch_of(_BATCH_BYTES, 900)))
    topic = ProduceRequest.TopicProduceData(name=name, partition_data=[data])
    for _ in range(_BATCHES):
        answer = line.ask(ApiKey.PRODUCE, 9, ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic]))
        if answer.responses[0].partition_responses[0].error_code:
            raise RuntimeError(f"{side.name}: a batch was rejected: {answer}")
    line.close()


def _alter(number: int) -> tuple[int, int, Any]:
    made = IncrementalAlterConfigsRequest
    config = made.AlterableConfig(name="retention.ms", config_operation=_SET, value=str(86_400_000 + number))
    resource = made.AlterConfigsResource(resource_type=_TOPIC_RESOURCE, resource_name="rf1", configs=[config])
    return ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, made(resources=[resource])


def _create(number: int) -> tuple[int, int, Any]:
    topic = CreateTopicsRequest.CreatableTopic(
        name=f"made-{number}", num_partitions=1, replication_factor=3, configs=[]
    )
    return ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
