"""`python -m bench.kafka [--quick] [--save]`: all pairs, build/bench-kafka.json, exit code 1 if one fails.

Both clusters are up, one of them is loaded at a time, in rounds: ours, Apache Kafka, ours, ... A figure is the median
of its rounds (5; 3 starts), a ratio the median of the rounds' ratios; the spread of the rounds stands beside. Idle
nodes take little from the other side: 11 to 15 % of a core are Apache Kafka's, 3 % ours. To start a side for each round
would take 20 seconds more, and a JVM that has not compiled its code.
Logs are in memory, with small segments that are deleted soon, so that memory is used again: see sides.py.
"""

from __future__ import annotations

import shutil
import signal
import sys
import time
from collections.abc import Iterator

from bench import c_programs
from bench.kafka.apache import ApacheKafka
from bench.kafka.measurements import Measurements, Plan
from bench.kafka.sides import Ours, Side
from bench.kafka.starts import Starts, start_interleaved
from bench.measured.recording import command_line, parse
from bench.noise import OtherProcesses, ended_children_seconds
from bench.processes import work_folder
from bench.rounds import Interleaved, Rounds
from bench.table import Row, Table

FULL = Plan(rounds=5, starts=3, jit=6.0, idle=2.0, small=1.0, warm=1.0, bulk=2.0, admin=8)
QUICK = Plan(rounds=2, starts=1, jit=2.0, idle=1.0, small=0.5, warm=0.5, bulk=1.0, admin=5)
_SETTLE_S = 3.0


def rows(ready: Rounds, sides: Interleaved[Side], plan: Plan) -> Iterator[Row]:
    """Every row, as soon as it is measured."""
    rounds, measured = plan.rounds, Measurements(plan)
    yield ready.row("time to ready, s", 0.2)
    time.sleep(_SETTLE_S)
    idle = sides.measure(measured.idle, rounds)
    yield idle["memory"].row("memory of an idle broker, MiB", 0.2)
    yield idle["idle"].row("idle CPU of three brokers, % of a core", 0.5)
    sides.measure(measured.prepare, 1)
    found = sides.measure(measured.api_versions, rounds)
    yield found["api versions"].row("ApiVersions, 50 connections, CPU us a request", 0.4)
    found = sides.measure(measured.one_record, rounds)
    yield found["one record"].row("one-record produce, 50 connections, CPU us a request", 0.7)
    found = sides.measure(measured.produce("rf1"), rounds)
    yield found["produce rf1"].row("produce by librdkafka, 1 KB, acks=all, RF 1, CPU s a GB", 0.4)
    found = sides.measure(measured.produce("rf3"), rounds)
    yield found["produce rf3"].row("produce by librdkafka, 1 KB, acks=all, RF 3, CPU s a GB", 0.5)
    yield found["rate rf3"].row("produced RF 3 (ratio: Kafka / ours), MB/s", 1.0, higher_is_better=True)
    found = sides.measure(measured.fetch, rounds)
    yield found["fetch"].row("fetch raw, CPU s a GB", 0.8)
    found = sides.measure(measured.end_to_end, rounds)
    yield found["end to end p50"].row("end to end p50 at 1,000 records/s, RF 3, ms", 1.0)
    yield found["end to end p99"].row("end to end p99, ms", None)
    yield sides.measure(measured.alter, rounds)["alter p50"].row("forwarded IncrementalAlterConfigs p50, ms", 0.25)
    yield sides.measure(measured.create, rounds)["create p50"].row("CreateTopics p50, ms", 0.25)


def main() -> int:
    given = parse(command_line("python -m bench.kafka"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # this process started the nodes and stops them
    plan = QUICK if given.quick else FULL
    c_programs.build()
    folder = work_folder()
    ours, kafka = Starts(Ours, folder / "ours"), Starts(ApacheKafka, folder / "kafka")
    table, others = Table("bench-kafka"), OtherProcesses(ended_children_seconds)
    try:
        ready, sides = start_interleaved(Interleaved(ours, kafka), plan.starts)
        table.head("ratio = ours / Kafka, the median of the rounds' ratios, which may be at most `bound`")
        for row in rows(ready, sides, plan):
            table.add(row)
    finally:
        kafka.stop()
        ours.stop()
        shutil.rmtree(folder, ignore_errors=True)
    table.note_noise(others.percent_of_a_core())
    return table.finish(saved=given.save)


if __name__ == "__main__":
    sys.exit(main())
