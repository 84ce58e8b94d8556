"""`python -m bench.compaction [--quick] [--save]`: all rows, build/bench-compaction.json, exit code 1 if one fails.

Both clusters are up, one of them compacts at a time, in rounds: ours, Apache Kafka, ours, ... (`bench/kafka`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench.compaction.measurements import Measurements, Plan, rows_of_cleaning, rows_of_produce
from bench.kafka.both_sides import run_target
from bench.kafka.sides import Side
from bench.rounds import Interleaved
from bench.table import Row

FULL = Plan(rounds=3, megabytes=256, small_megabytes=96, seconds=4.0, beside_megabytes=192)
QUICK = Plan(rounds=1, megabytes=96, small_megabytes=48, seconds=1.5, beside_megabytes=96)
_SETTINGS = {"log.cleaner.backoff.ms": "100"}


def rows(sides: Interleaved[Side], quick: bool) -> Iterator[Row]:
    """Every row, as soon as it is measured."""
    plan = QUICK if quick else FULL
    measured = Measurements(plan)
    sides.measure(measured.prepare, 1)
    yield from rows_of_cleaning(sides.measure(measured.clean(1_000, plan.megabytes), plan.rounds), "1 KB", 1.5)
    small = sides.measure(measured.clean(100, plan.small_megabytes), plan.rounds)
    yield from rows_of_cleaning(small, "100 bytes", None)
    yield from rows_of_produce(Interleaved(sides.ours, None).measure(measured.produce, plan.rounds))


if __name__ == "__main__":
    sys.exit(run_target("bench-compaction", _SETTINGS, rows))
