"""`python -m bench.pipeline [--quick] [--save]`: all rows, build/bench-pipeline.json, exit code 1 if one fails.

Both clusters are up with the same records; one Spark runs at a time, each kind of run once a round.
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
from bench.rounds import Interleaved, Rounds
from bench.table import Row

FULL = Plan(rounds=3, records=1_000_000)
QUICK = Plan(rounds=1, records=100_000)


def rows(sides: Interleaved[Side], quick: bool) -> Iterator[Row]:
    """Every row, when all rounds are measured."""
    plan = QUICK if quick else FULL
    measured = Measurements(plan)
    sides.measure(measured.prepare, 1)
    found = measured_by_round(sides, measured, plan.rounds)
    jars, pypi, bare, one = found["jars"], found["pypi"], found["bare"], found["one core"]
    yield from rows_of_sources(jars, JARS)
    yield from rows_of_sources(pypi, PYPI)
    yield row_of_rates("records/s, pypi / jars, ratio", pypi["rate"], jars["rate"], 0.8)
    yield bare["cpu"].own_row("a bare job: Spark, CPU s a million records", None)
    yield row_of_rates("records/s, jars / a bare Structured Streaming job, ratio", jars["rate"], bare["rate"], 0.9)
    yield row_of_rates("records/s, local[2] / local[1], ratio", jars["rate"], one["rate"], 1.25)
    executors = found["executors"]["cpu"]
    yield row_of_costs("CPU s a million records, two executors / local[1], ratio", executors, one["cpu"], 1.2)
    for profile in (JARS, PYPI):
        yield from rows_of_alerts(profile)


def measured_by_round(sides: Interleaved[Side], measured: Measurements, rounds: int) -> dict[str, dict[str, Rounds]]:
    """Each kind of run once a round, so that runs whose ratio is a row share the machine's slow moments."""
    alone = Interleaved(sides.ours, None)
    kinds = {
        "jars": (sides, measured.run("ours", JARS)),
        "pypi": (sides, measured.run("ours", PYPI)),
        "bare": (alone, measured.run("bare", JARS)),
        "one core": (alone, measured.run("ours", JARS, "local[1]")),
        "executors": (alone, measured.run("executors", JARS)),
    }
    found: dict[str, dict[str, Rounds]] = {}
    for number in range(1, rounds + 1):
        for name, (where, measure) in kinds.items():
            print(f"round {number} of {rounds}: {name}", flush=True)
            figures = where.measure(measure, 1)
            before = found.get(name)
            found[name] = {metric: before[metric] + later for metric, later in figures.items()} if before else figures
    return found


if __name__ == "__main__":
    sys.exit(run_target("bench-pipeline", {}, rows))
