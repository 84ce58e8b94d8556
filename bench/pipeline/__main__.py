"""`python -m bench.pipeline [--quick] [--save]`: all rows, build/bench-pipeline.json, exit code 1 if one fails.

Both clusters are up with the same records; one Spark runs at a time, in rounds: ours, Apache Kafka, ours, ...
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench.kafka.both_sides import run_target
from bench.kafka.sides import Side
from bench.pipeline.measurements import (
    JARS,
    PYPI,
    Measurements,
    Plan,
    row_of_costs,
    row_of_rates,
    rows_of_alerts,
    rows_of_sources,
)
from bench.rounds import Interleaved
from bench.table import Row

FULL = Plan(rounds=3, records=1_000_000)
QUICK = Plan(rounds=1, records=100_000)


def rows(sides: Interleaved[Side], quick: bool) -> Iterator[Row]:
    """Every row, as soon as it is measured."""
    plan = QUICK if quick else FULL
    measured = Measurements(plan)
    sides.measure(measured.prepare, 1)
    jars = sides.measure(measured.run("ours", JARS), plan.rounds)
    yield from rows_of_sources(jars, JARS)
    pypi = sides.measure(measured.run("ours", PYPI), plan.rounds)
    yield from rows_of_sources(pypi, PYPI)
    yield row_of_rates("records/s, pypi / jars, ratio", pypi["rate"], jars["rate"], 0.8)
    alone = Interleaved(sides.ours, None)
    bare = alone.measure(measured.run("bare", JARS), plan.rounds)
    yield bare["cpu"].own_row("a bare job: Spark, CPU s a million records", None)
    yield row_of_rates("records/s, jars / a bare Structured Streaming job, ratio", jars["rate"], bare["rate"], 0.9)
    one = alone.measure(measured.run("ours", JARS, "local[1]"), plan.rounds)
    yield row_of_rates("records/s, local[2] / local[1], ratio", jars["rate"], one["rate"], 1.25)
    executors = alone.measure(measured.run("executors", JARS), plan.rounds)
    yield row_of_costs("CPU s a million records, two executors / local[1], ratio", executors["cpu"], one["cpu"], 1.2)
    for profile in (JARS, PYPI):
        yield from rows_of_alerts(profile)


if __name__ == "__main__":
    sys.exit(run_target("bench-pipeline", {}, rows))
