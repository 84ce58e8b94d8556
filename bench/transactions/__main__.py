"""`python -m bench.transactions [--quick] [--save]`: all rows, build/bench-transactions.json, exit code 1 if one fails.

Both clusters are up, one of them is loaded at a time, in rounds: ours, Apache Kafka, ours, ... (`bench/kafka`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from bench.kafka.both_sides import run_target
from bench.kafka.sides import Side
from bench.rounds import Interleaved
from bench.table import Row
from bench.transactions.measurements import Measurements, Plan, rows_of_fetch, rows_of_one, rows_of_several

FULL = Plan(rounds=5, jit=10.0, warm=1.0, seconds=4.0, fetch=1.5)
QUICK = Plan(rounds=2, jit=3.0, warm=0.5, seconds=1.5, fetch=0.5)
_SETTINGS = {"transaction.state.log.replication.factor": "3", "transaction.state.log.min.isr": "2"}


def rows(sides: Interleaved[Side], quick: bool) -> Iterator[Row]:
    """Every row, as soon as it is measured."""
    plan = QUICK if quick else FULL
    measured = Measurements(plan)
    sides.measure(measured.prepare, 1)
    yield from rows_of_one(sides.measure(measured.one_producer, plan.rounds))
    yield from rows_of_several(sides.measure(measured.several_producers, plan.rounds))
    yield from rows_of_fetch(sides.measure(measured.fetch, plan.rounds))


if __name__ == "__main__":
    sys.exit(run_target("bench-transactions", _SETTINGS, rows))
