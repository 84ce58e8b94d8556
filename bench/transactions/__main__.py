"""`python -m bench.transactions [--quick] [--save]`: all rows, build/bench-transactions.json, exit code 1 if one fails.

Both clusters are up, one of them is loaded at a time, in rounds: ours, Apache Kafka, ours, ... (`bench/kafka`).
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

from bench import c_programs
from bench.kafka.both_sides import both_sides
from bench.kafka.sides import Side
from bench.measured.recording import command_line, parse
from bench.noise import OtherProcesses, ended_children_seconds
from bench.processes import work_folder
from bench.rounds import Interleaved
from bench.table import Row, Table
from bench.transactions.measurements import Measurements, Plan, rows_of_fetch, rows_of_one, rows_of_several

FULL = Plan(rounds=5, jit=10.0, warm=1.0, seconds=4.0, fetch=1.5)
QUICK = Plan(rounds=2, jit=3.0, warm=0.5, seconds=1.5, fetch=0.5)
_SETTINGS = {"transaction.state.log.replication.factor": "3", "transaction.state.log.min.isr": "2"}


def rows(sides: Interleaved[Side], plan: Plan) -> Iterator[Row]:
    """Every row, as soon as it is measured."""
    measured = Measurements(plan)
    sides.measure(measured.prepare, 1)
    yield from rows_of_one(sides.measure(measured.one_producer, plan.rounds))
    yield from rows_of_several(sides.measure(measured.several_producers, plan.rounds))
    yield from rows_of_fetch(sides.measure(measured.fetch, plan.rounds))


def main() -> int:
    given = parse(command_line("python -m bench.transactions"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # this process started the nodes and stops them
    c_programs.build()
    table, others = Table("bench-transactions"), OtherProcesses(ended_children_seconds)
    with both_sides(work_folder(), _SETTINGS) as sides:
        table.head("ratio = ours / Kafka, the median of the rounds' ratios, which may be at most `bound`")
        for row in rows(sides, QUICK if given.quick else FULL):
            table.add(row)
    table.note_noise(others.percent_of_a_core())
    return table.finish(saved=given.save)


if __name__ == "__main__":
    sys.exit(main())
