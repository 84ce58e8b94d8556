"""`python -m bench.kafka [--quick] [--save]`: all pairs, build/bench-kafka.json, exit code 1 if one fails.

Apache Kafka is measured first, then ours, each after 30 seconds of load (5 with `--quick`): a JVM needs this warm-up.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bench import c_programs, frames
from bench.c_programs import Load
from bench.kafka.apache import ApacheKafka
from bench.kafka.sides import Line, Ours, Side
from bench.measured.recording import command_line, parse
from bench.processes import cpu_seconds, resident_mib, work_folder
from bench.table import Row, Table, at_most
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from signalbox.protocol.messages.produce import ProduceRequest

_CONNECTIONS = 50
_FETCH_BYTES = 1_048_576
_BATCH_BYTES, _BATCHES = 1_000_000, 16
_TOPIC_RESOURCE, _SET = 2, 0


@dataclass(frozen=True)
class Plan:
    """The duration of each measurement in seconds (`admin`: requests per node)."""

    warm: float
    idle: float
    small: float
    bulk: float
    admin: int


FULL, QUICK = Plan(30.0, 15.0, 3.0, 15.0, 80), Plan(5.0, 4.0, 1.0, 5.0, 20)


@dataclass
class Figures:
    """The measurements of one side."""

    values: dict[str, float] = field(default_factory=dict)

    def note(self, name: str, value: float) -> None:
        self.values[name] = value
        print(f"  {name:45}{value:12.2f}", flush=True)


def client(what: str, side: Side, topic: str, seconds: float) -> dict[str, float]:
    """Runs one of the clients in a process of its own."""
    command = [sys.executable, "-m", "bench.kafka.clients", what, side.bootstrap, topic, str(seconds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer


def measure(side: Side, plan: Plan) -> Figures:
    """Starts the side, measures everything, stops it."""
    found = Figures()
    print(f"\n{side.name}", flush=True)
    try:
        found.note("ready", side.start())
        time.sleep(5)
        found.note("memory", statistics.mean(resident_mib(pid) for pid in side.pids.values()))
        before = side.cpu_seconds()
        time.sleep(plan.idle)
        found.note("idle", (side.cpu_seconds() - before) / plan.idle * 100)
        side.create_topic("rf1", 6, 1)
        side.create_topic("rf3", 6, 3)
        _warm(side, plan)
        _small_requests(side, plan, found)
        for topic in ("rf1", "rf3"):
            before = side.cpu_seconds()
            sent = client("produce", side, topic, plan.bulk)
            found.note(f"produce {topic}", (side.cpu_seconds() - before) / (sent["bytes"] / 1e9))
            found.note(f"rate {topic}", sent["bytes"] / sent["seconds"] / 1e6)
        _fetch(side, plan, found)
        latency = client("endtoend", side, "rf3", plan.bulk)
        found.note("end to end p50", latency["p50_ms"])
        found.note("end to end p99", latency["p99_ms"])
        found.note("alter p50", _admin(side, plan, _alter, "alter"))
        found.note("create p50", _admin(side, plan, _create, "create"))
    finally:
        side.stop()
    return found


def _warm(side: Side, plan: Plan) -> None:
    """Sends load of every kind."""
    for topic in ("rf1", "rf3"):
        client("produce", side, topic, plan.warm / 3)
    port = side.addresses[side.leader("rf1")][1]
    _api_versions().run(port, plan.warm / 6)
    _one_record().run(port, plan.warm / 6)


def _api_versions() -> Load:
    return Load("kafka-api-versions", frames.api_versions(), _CONNECTIONS)


def _one_record() -> Load:
    """acks=1 without a producer id, as in the reference figures of Apache Kafka."""
    frame = frames.produce("rf1", frames.batch_of(180, 1), 1, 1)
    return Load("kafka-produce-one", frame, _CONNECTIONS)


def _small_requests(side: Side, plan: Plan, found: Figures) -> None:
    node = side.leader("rf1")
    port, pid = side.addresses[node][1], side.pids[node]
    for name, load in (("api versions", _api_versions()), ("one record", _one_record())):
        costs = []
        for _ in range(3):
            before = cpu_seconds(pid)
            result = load.run(port, plan.small)
            costs.append((cpu_seconds(pid) - before) / result.answers * 1e6)
        found.note(name, statistics.median(costs))


def _fetch(side: Side, plan: Plan, found: Figures) -> None:
    """One megabyte at a time by raw sockets, the records discarded."""
    side.create_topic("read", 1, 3)
    node = side.leader("read")
    line = Line(side.addresses[node])
    data = ProduceRequest.PartitionProduceData(index=0, records=frames.plain(frames.batch_of(_BATCH_BYTES, 900)))
    topic = ProduceRequest.TopicProduceData(name="read", partition_data=[data])
    for _ in range(_BATCHES):
        answer = line.ask(ApiKey.PRODUCE, 9, ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic]))
        if answer.responses[0].partition_responses[0].error_code:
            raise RuntimeError(f"{side.name}: a batch was rejected: {answer}")
    line.close()
    load = Load("kafka-fetch", frames.fetch("read", _FETCH_BYTES), 4)
    costs = []
    for _ in range(3):
        before = cpu_seconds(side.pids[node])
        result = load.run(side.addresses[node][1], plan.small)
        costs.append((cpu_seconds(side.pids[node]) - before) / (result.response_bytes / 1e9))
    found.note("fetch", statistics.median(costs))


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


def _admin(side: Side, plan: Plan, request: Callable[[int], tuple[int, int, Any]], name: str) -> float:
    """p50 in ms, one in flight, over the two slower nodes: the third is the active controller."""
    medians: list[tuple[float, list[float]]] = []
    number = 0
    for address in side.addresses.values():
        line = Line(address)
        taken = []
        for _ in range(plan.admin):
            number += 1
            began = time.perf_counter()
            answer = line.ask(*request(number))
            taken.append((time.perf_counter() - began) * 1000)
            rejected = [
                row.error_message for row in getattr(answer, "topics", None) or answer.responses if row.error_code
            ]
            if rejected:
                raise RuntimeError(f"{side.name}: {name} was rejected: {rejected}")
        line.close()
        medians.append((statistics.median(taken), taken))
    slower = sorted(medians, key=lambda pair: pair[0])[1:]
    return statistics.median([value for _, values in slower for value in values])


def compare(kafka: dict[str, float], ours: dict[str, float]) -> list[Row]:
    """The rows of the comparison."""

    def pair(metric: str, name: str, bound: float | None) -> Row:
        return at_most(metric, ours[name], kafka[name], bound)

    rate = kafka["rate rf3"] / ours["rate rf3"]
    return [
        pair("ApiVersions, 50 connections, CPU us a request", "api versions", 0.4),
        pair("one-record produce, 50 connections, CPU us a request", "one record", 0.7),
        pair("produce by librdkafka, 1 KB, acks=all, RF 1, CPU s a GB", "produce rf1", 0.4),
        pair("produce by librdkafka, 1 KB, acks=all, RF 3, CPU s a GB", "produce rf3", 0.5),
        pair("fetch raw, CPU s a GB", "fetch", 0.8),
        Row("produced RF 3 (ratio: Kafka / ours), MB/s", ours["rate rf3"], kafka["rate rf3"], rate, 1.0, rate <= 1.0),
        pair("end to end p50 at 1,000 records/s, RF 3, ms", "end to end p50", 1.0),
        pair("end to end p99, ms", "end to end p99", None),
        pair("forwarded IncrementalAlterConfigs p50, ms", "alter p50", 0.25),
        pair("CreateTopics p50, ms", "create p50", 0.25),
        pair("time to ready, s", "ready", 0.2),
        pair("memory of an idle broker, MiB", "memory", 0.2),
        pair("idle CPU of three brokers, % of a core", "idle", 0.5),
    ]


def main() -> int:
    given = parse(command_line("python -m bench.kafka"))
    plan = QUICK if given.quick else FULL
    c_programs.build()
    folder = work_folder()
    try:
        found = []
        for side in (ApacheKafka(folder), Ours(folder)):
            found.append(measure(side, plan).values)
            shutil.rmtree(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    table = Table("bench-kafka")
    table.head("ratio = ours / Kafka, which may be at most `bound`")
    for row in compare(*found):
        table.add(row)
    return table.finish(saved=given.save)


if __name__ == "__main__":
    sys.exit(main())
