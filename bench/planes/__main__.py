"""`python -m bench.planes [--quick] [--only TEXT] [--save]`: every row, build/bench-planes.json, exit code 1 when one
fails.

A gap is the time for which the control plane was not polled: wall time less run-queue delay, so that blocking counts
and other load on the machine does not (`signalbox/transport/poll_gaps.py`).
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench import c_programs
from bench.kafka.apache import ApacheKafka
from bench.kafka.sides import Ours
from bench.kafka.zookeeper import KafkaOnZooKeeper
from bench.measured.recording import command_line, parse
from bench.planes.bombs import BOMBS, bomb_rows
from bench.planes.flood import flood_rows
from bench.planes.leadership import leadership_rows
from bench.planes.loads import Kind, busy, kinds
from bench.planes.stage import Stage
from bench.poll_gaps import quantile, read_gaps
from bench.processes import work_folder
from bench.table import Row, Table, absolute

_P99_US, _WORST_US = 500.0, 2_000.0
_WARM_S = 1.0
_GUARD = {"authorizer.class.name": "bench.planes.many_acls.ManyAcls"}


def gap_rows(kind: Kind, stage: Stage, seconds: float) -> Iterator[Row]:
    """p99 and the longest gap under one kind of load."""
    with busy(kind, stage):
        time.sleep(_WARM_S)
        before = read_gaps(stage.metrics_url)
        time.sleep(seconds)
        after = read_gaps(stage.metrics_url)
    yield absolute(f"gap, {kind.name}, p99, us", quantile(before, after, 0.99), _P99_US)
    yield absolute(f"gap, {kind.name}, worst, us", quantile(before, after, 1), _WORST_US)


def rows(folder: Path, only: str, seconds: float) -> Iterator[Row]:
    """All kinds of load, on the broker that each needs, and unauthenticated clients at the control plane."""
    for guarded in (False, True):
        chosen = [kind for kind in kinds() if kind.guarded is guarded and only in kind.name]
        floods = not guarded and only in "unauthenticated connections"
        bombs = not guarded and only in BOMBS
        if not chosen and not floods and not bombs:
            continue
        with Stage(folder / ("guarded" if guarded else "open"), _GUARD if guarded else None) as stage:
            stage.furnish()
            for kind in chosen:
                yield from gap_rows(kind, stage, seconds)
            if floods:
                yield from flood_rows(stage, seconds)
            if bombs:
                yield from bomb_rows(stage, seconds)


def leaders(folder: Path, only: str, changes: int, kafka: bool) -> Iterator[Row]:
    """Changes of leadership, end to end; ours, and Apache Kafka if `kafka` is set."""
    if only not in "leadership end to end":
        return
    yield from leadership_rows(Ours(folder / "ours"), changes, bounded=True)
    if kafka:
        yield from leadership_rows(ApacheKafka(folder / "kafka"), changes, bounded=False)
        yield from leadership_rows(KafkaOnZooKeeper(folder / "kafka-3.9", control_plane=True), changes, bounded=False)


def main() -> int:
    parser = command_line("python -m bench.planes")
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--kafka", action="store_true", help="Apache Kafka 4.4 and 3.9 beside ours (needs mvn and Java)"
    )
    given = parse(parser)
    c_programs.build()
    table, folder = Table("bench-planes"), Path("build/bench") / f"planes-{os.getpid()}"
    memory = work_folder()
    table.head("where no reference stands, ours may be at most `bound`")
    try:
        for row in rows(folder.absolute(), given.only, 2.0 if given.quick else 10.0):
            table.add(row)
        table.head("ratio = saturated / idle, which may be at most `bound`")
        for row in leaders(memory, given.only, 20 if given.quick else 200, given.kafka):
            table.add(row)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(memory, ignore_errors=True)
    return table.finish(saved=given.save)


if __name__ == "__main__":
    sys.exit(main())
