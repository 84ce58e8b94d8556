"""`python -m bench.admin [--quick] [--only TEXT] [--save]`: all rows, build/bench-admin.json, exit code 1 if one fails.

Five systems, one after the other on the same machine, three nodes each: Apache Kafka 4.4.0 with its default append
linger and with none, ours on the embedded store; Apache Kafka 3.9.2 and ours on the same ZooKeeper. One generator sends
the same bytes to all of them.
"""

from __future__ import annotations

import shutil
import signal
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.admin.comparison import CONTENDERS, compare
from bench.admin.exchange import exchange, quantile
from bench.admin.failover import measure_failover
from bench.admin.latency import Changes, Note, measure_changes, warm
from bench.admin.many import create_topics, delete_topics
from bench.admin.requests import all_metadata
from bench.kafka.apache import ApacheKafka
from bench.kafka.sides import Ours, Side
from bench.kafka.zookeeper import KafkaOnZooKeeper, OursOnZooKeeper
from bench.measured.recording import command_line, parse
from bench.noise import OtherProcesses
from bench.processes import cpu_seconds, resident_mib, work_folder
from bench.table import Table

_HONEST = "4.4 no linger"  # for the changes alone: its partitions and its sessions are like those of "4.4"
_NO_LINGER = {"controller.quorum.append.linger.ms": "0"}


@dataclass(frozen=True)
class Plan:
    """`requests` of each kind and number of clients; `kills` of ours and of Apache Kafka, whose sessions take 9 to 18 s
    each time; `topics` of three partitions, and `wide` ones of ten."""

    warm_s: float
    requests: int
    our_kills: int
    kafka_kills: int
    topics: int
    wide: int


FULL, QUICK = Plan(12.0, 240, 8, 1, 1_000, 500), Plan(3.0, 48, 2, 0, 100, 50)
SIDES: dict[str, Callable[[Path], Side]] = {
    "4.4": lambda folder: ApacheKafka(folder),
    _HONEST: lambda folder: ApacheKafka(folder, _NO_LINGER),
    "ours": lambda folder: Ours(folder),
    "3.9": lambda folder: KafkaOnZooKeeper(folder, control_plane=False),
    "ours on ZooKeeper": lambda folder: OursOnZooKeeper(folder),
}


@dataclass
class Figures:
    """The measurements of one side."""

    began: float
    values: dict[str, float] = field(default_factory=dict)

    def note(self, name: str, value: float) -> None:
        self.values[name] = value
        print(f"  {time.monotonic() - self.began:6.0f} s  {name:40}{value:12.2f}", flush=True)


def measure(name: str, folder: Path, plan: Plan, began: float) -> dict[str, float]:
    """Starts the side, measures everything, stops it."""
    found, side = Figures(began), SIDES[name](folder)
    kills = plan.our_kills if name.startswith("ours") else plan.kafka_kills * (name != _HONEST)
    print(f"\n{name}: {side.name}", flush=True)
    try:
        found.note("start", side.start())
        others = OtherProcesses(lambda: side.cpu_seconds() + sum(map(cpu_seconds, side.helpers)))
        changes = Changes(side)
        warm(side, changes, plan.warm_s)
        measure_changes(side, changes, plan.requests, found.note)
        if name != _HONEST:
            _many(side, plan, found.note)
        found.note("others", others.percent_of_a_core())
        if kills:
            measure_failover(side, kills, found.note)
    finally:
        side.stop()
    return found.values


def _many(side: Side, plan: Plan, note: Note) -> None:
    small = [f"small-{number}" for number in range(plan.topics)]
    for label, seconds in zip(("answered", "led"), create_topics(side, small, 3, 1), strict=True):
        note(f"topics {label}", seconds)
    note("topics deleted", delete_topics(side, small))
    wide = [f"wide-{number}" for number in range(plan.wide)]
    for label, seconds in zip(("answered", "led"), create_topics(side, wide, 10, 1), strict=True):
        note(f"partitions {label}", seconds)
    taken = exchange(side.addresses[1], [[all_metadata()] * 60]).milliseconds
    note("metadata p50", quantile(taken, 0.5))
    note("metadata p99", quantile(taken, 0.99))
    note("memory", statistics.mean(resident_mib(pid) for pid in side.pids.values()))
    delete_topics(side, wide)


def main() -> int:
    parser = command_line("python -m bench.admin")
    parser.add_argument("--only", default="", help="measure the systems whose name holds TEXT")
    given = parse(parser)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # this process started the nodes and stops them
    plan = QUICK if given.quick else FULL
    folder, began = work_folder(), time.monotonic()
    few = given.quick and not given.only
    chosen = [name for name in SIDES if given.only in name and not (few and name not in CONTENDERS[0])]
    found: dict[str, dict[str, float]] = {}
    try:
        for name in chosen:
            found[name] = measure(name, folder, plan, began)
            shutil.rmtree(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    table = Table("bench-admin")
    table.head("ratio = ours / reference, which may be at most `bound`; where no reference stands, ours may")
    for row in compare(found):
        table.add(row)
    return table.finish(saved=given.save)


if __name__ == "__main__":
    sys.exit(main())
