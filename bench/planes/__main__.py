"""`python -m bench.planes [--quick] [--only TEXT] [--save]`: every row, build/bench-planes.json, exit code 1 when one
fails.

A gap is the time for which the control plane was not polled: wall time less run-queue delay, so that blocking counts
and other load on the machine does not (`signalbox/transport/poll_gaps.py`). Its p99 is the median of five rounds, the
worst one is that of all rounds. Ours and Apache Kafka are measured in turn, both up, one of them loaded at a time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from bench import c_programs
from bench.kafka.apache import ApacheKafka
from bench.kafka.sides import Ours, Side
from bench.kafka.zookeeper import KafkaOnZooKeeper
from bench.measured.recording import command_line, parse
from bench.noise import OtherProcesses, ended_children_seconds
from bench.planes.beside_load import BesideLoad, loaded_and_idle, rows_beside_load, rows_of_one_side
from bench.planes.bombs import BOMBS, bomb_rows
from bench.planes.flood import flood_rows
from bench.planes.light_flood import FLOOD, light_flood_rows
from bench.planes.loads import Kind, busy, kinds
from bench.planes.stage import Stage
from bench.poll_gaps import quantile, read_gaps
from bench.processes import work_folder
from bench.rounds import Interleaved, Rounds
from bench.table import Row, Spread, Table, absolute

_GUARD = {"authorizer.class.name": "bench.planes.many_acls.ManyAcls"}


@dataclass(frozen=True)
class Plan:
    """`rounds` of each measurement. `seconds`: all rounds of one kind of load together, `warm_s` before they count;
    beside load, each half of a round has `metadata_s` of Metadata requests and `changes` of leadership."""

    rounds: int
    seconds: float
    warm_s: float
    metadata_s: float
    changes: int


FULL, QUICK = Plan(5, 10.0, 2.0, 2.0, 24), Plan(2, 2.0, 1.0, 1.0, 8)


def gap_rows(kind: Kind, stage: Stage, plan: Plan) -> Iterator[Row]:
    """Under one kind of load: the median of the rounds' p99, and the longest gap of all rounds."""
    p99s, longest = [], []
    with busy(kind, stage):
        time.sleep(plan.warm_s)
        before = read_gaps(stage.metrics_url)
        for _ in range(plan.rounds):
            time.sleep(plan.seconds / plan.rounds)
            after = read_gaps(stage.metrics_url)
            p99s.append(quantile(before, after, 0.99))
            longest.append(quantile(before, after, 1))
            before = after
    yield Rounds(tuple(p99s)).own_row(f"gap, {kind.name}, p99, us", kind.bounds.p99)
    worst = absolute(f"gap, {kind.name}, worst, us", max(longest), kind.bounds.worst)
    yield replace(worst, spread=Spread.of(longest))


def rows(folder: Path, only: str, plan: Plan) -> Iterator[Row]:
    """All kinds of load, on the broker that each needs, and unauthenticated clients at the control plane."""
    for guarded in (False, True):
        chosen = [kind for kind in kinds() if kind.guarded is guarded and only in kind.name]
        floods = not guarded and only in "unauthenticated connections"
        bombs = not guarded and only in BOMBS
        light = not guarded and only in FLOOD
        if not chosen and not floods and not bombs and not light:
            continue
        with Stage(folder / ("guarded" if guarded else "open"), _GUARD if guarded else None) as stage:
            stage.furnish()
            for kind in chosen:
                yield from gap_rows(kind, stage, plan)
            if floods:
                yield from flood_rows(stage, plan.seconds)
            if bombs:
                yield from bomb_rows(stage, plan.seconds)
            if light:
                yield from light_flood_rows(stage, plan.seconds)


def rows_of_both_sides(folder: Path, only: str, plan: Plan, zookeeper: bool) -> Iterator[Row]:
    """Metadata and changes of leadership beside heavy connections; ours and Apache Kafka 4.4, and 3.9 if asked for."""
    if only not in "metadata and leadership beside load":
        return
    with ExitStack() as running:
        ours = _started(running, Ours(folder / "ours"), plan)
        sides = Interleaved(ours, _reference(running, folder / "kafka", plan))
        sides.measure(BesideLoad.warm, 1)
        found = sides.measure(BesideLoad.measure, plan.rounds)
        yield from rows_beside_load(found)
        yield from rows_of_one_side(ours.name, loaded_and_idle(found), ours.applied())
        if sides.reference is not None:
            yield from rows_of_one_side(sides.reference.name, loaded_and_idle(found, reference=True), {})
    if zookeeper:
        with ExitStack() as running:
            former = _started(running, KafkaOnZooKeeper(folder / "kafka-3.9", control_plane=True), plan)
            alone = Interleaved(former, None)
            alone.measure(BesideLoad.warm, 1)
            found = alone.measure(BesideLoad.measure, plan.rounds)
            yield from rows_of_one_side(former.name, loaded_and_idle(found), {})


def _started(running: ExitStack, side: Side, plan: Plan) -> BesideLoad:
    """The side is stopped when `running` ends."""
    running.callback(side.stop)
    beside_load = BesideLoad(side, plan.changes, plan.metadata_s)
    running.callback(beside_load.close)
    return beside_load


def _reference(running: ExitStack, folder: Path, plan: Plan) -> BesideLoad | None:
    """None, and its reason is printed, if Apache Kafka cannot be started: the rows that need it fail then."""
    try:
        return _started(running, ApacheKafka(folder), plan)
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        print(f"Apache Kafka was not measured: {error}", flush=True)
        return None


def main() -> int:
    parser = command_line("python -m bench.planes")
    parser.add_argument("--only", default="")
    parser.add_argument("--zookeeper", action="store_true", help="Apache Kafka 3.9 on ZooKeeper, too")
    given = parse(parser)
    c_programs.build()
    table, folder = Table("bench-planes"), Path("build/bench") / f"planes-{os.getpid()}"
    memory, plan = work_folder(), QUICK if given.quick else FULL
    others = OtherProcesses(ended_children_seconds)
    table.head("ratio: as the row says; where no reference stands, ours may be at most `bound`")
    try:
        for row in rows(folder.absolute(), given.only, plan):
            table.add(row)
        for row in rows_of_both_sides(memory, given.only, plan, given.zookeeper):
            table.add(row)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(memory, ignore_errors=True)
    table.note_noise(others.percent_of_a_core())
    return table.finish(saved=given.save)


if __name__ == "__main__":
    sys.exit(main())
