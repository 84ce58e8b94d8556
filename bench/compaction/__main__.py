"""`python -m bench.compaction [--quick] [--save]`: all rows, build/bench-compaction.json, exit code 1 if one fails.

Both clusters are up, one of them compacts at a time, in rounds: ours, Apache Kafka, ours, ... (`bench/kafka`).
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

from bench import c_programs
from bench.compaction.measurements import Measurements, Plan, rows_of_cleaning, rows_of_produce
from bench.kafka.both_sides import both_sides
from bench.kafka.sides import Side
from bench.measured.recording import command_line, parse
from bench.noise import OtherProcesses, ended_children_seconds
from bench.processes import work_folder
from bench.rounds import Interleaved
from bench.table import Row, Table

FULL = Plan(rounds=3, megabytes=256, small_megabytes=96, seconds=4.0, beside_megabytes=192)
QUICK = Plan(rounds=1, megabytes=96, small_megabytes=48, seconds=1.5, beside_megabytes=96)
_SETTINGS = {"log.cleaner.backoff.ms": "100"}


def rows(sides: Interleaved[Side], plan: Plan) -> Iterator[Row]:
    """Every row, as soon as it is measured."""
    measured = Measurements(plan)
    sides.measure(measured.prepare, 1)
    yield from rows_of_cleaning(sides.measure(measured.clean(1_000, plan.megabytes), plan.rounds), "1 KB", 1.5)
    small = sides.measure(measured.clean(100, plan.small_megabytes), plan.rounds)
    yield from rows_of_cleaning(small, "100 bytes", None)
    yield from rows_of_produce(Interleaved(sides.ours, None).measure(measured.produce, plan.rounds))


def main() -> int:
    given = parse(command_line("python -m bench.compaction"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # this process started the nodes and stops them
    c_programs.build()
    table, others = Table("bench-compaction"), OtherProcesses(ended_children_seconds)
    with both_sides(work_folder(), _SETTINGS) as sides:
        table.head("ratio = ours / Kafka, the median of the rounds' ratios, which may be at most `bound`")
        for row in rows(sides, QUICK if given.quick else FULL):
            table.add(row)
    table.note_noise(others.percent_of_a_core())
    return table.finish(saved=given.save)


if __name__ == "__main__":
    sys.exit(main())
