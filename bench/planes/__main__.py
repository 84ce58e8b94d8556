"""`python -m bench.planes [--quick] [--only TEXT] [--save]`: every row, build/bench-planes.json, exit code 1 when one
fails.

A gap is the time for which the control plane was not polled: wall time less run-queue delay, so that blocking counts
and other load on the machine does not (`signalbox/transport/poll_gaps.py`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench import c_programs
from bench.kafka.apache import ApacheKafka
from bench.kafka.sides import Ours
from bench.kafka.zookeeper import KafkaOnZooKeeper
from bench.measured.recording import command_line, parse
from bench.noise import OtherProcesses, ended_children_seconds
from bench.planes.beside_load import Measured, measure_side, rows_beside_load, rows_of_one_side
from bench.planes.bombs import BOMBS, bomb_rows
from bench.planes.flood import flood_rows
from bench.planes.light_flood import FLOOD, light_flood_rows
from bench.planes.loads import Kind, busy, kinds
from bench.planes.stage import Stage
from bench.poll_gaps import quantile, read_gaps
from bench.processes import work_folder
from bench.table import Row, Table, absolute

_WARM_S = 1.0
_GUARD = {"authorizer.class.name": "bench.planes.many_acls.ManyAcls"}


def gap_rows(kind: Kind, stage: Stage, seconds: float) -> Iterator[Row]:
    """p99 and the longest gap under one kind of load."""
    with busy(kind, stage):
        time.sleep(_WARM_S)
        before = read_gaps(stage.metrics_url)
        time.sleep(seconds)
        after = read_gaps(stage.metrics_url)
    yield absolute(f"gap, {kind.name}, p99, us", quantile(before, after, 0.99), kind.bounds.p99)
    yield absolute(f"gap, {kind.name}, worst, us", quantile(before, after, 1), kind.bounds.worst)


def rows(folder: Path, only: str, seconds: float) -> Iterator[Row]:
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
                yield from gap_rows(kind, stage, seconds)
            if floods:
                yield from flood_rows(stage, seconds)
            if bombs:
                yield from bomb_rows(stage, seconds)
            if light:
                yield from light_flood_rows(stage, seconds)


def beside_load(folder: Path, only: str, changes: int, seconds: float, zookeeper: bool) -> Iterator[Row]:
    """Metadata and changes of leadership beside heavy connections; ours and Apache Kafka 4.4, and 3.9 if asked for."""
    if only not in "metadata and leadership beside load":
        return
    ours = measure_side(Ours(folder / "ours"), changes, seconds)
    yield from rows_beside_load(ours, _reference(folder / "kafka", changes, seconds))
    if zookeeper:
        former = KafkaOnZooKeeper(folder / "kafka-3.9", control_plane=True)
        yield from rows_of_one_side(measure_side(former, changes, seconds))


def _reference(folder: Path, changes: int, seconds: float) -> Measured | None:
    """None, and its reason is printed, if Apache Kafka cannot be run: the rows that need it fail then."""
    try:
        return measure_side(ApacheKafka(folder), changes, seconds)
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
    memory, seconds = work_folder(), 2.0 if given.quick else 10.0
    others = OtherProcesses(ended_children_seconds)
    table.head("ratio: as the row says; where no reference stands, ours may be at most `bound`")
    try:
        for row in rows(folder.absolute(), given.only, seconds):
            table.add(row)
        for row in beside_load(memory, given.only, 20 if given.quick else 200, seconds, given.zookeeper):
            table.add(row)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(memory, ignore_errors=True)
    table.note_noise(others.percent_of_a_core())
    return table.finish(saved=given.save)


if __name__ == "__main__":
    sys.exit(main())
