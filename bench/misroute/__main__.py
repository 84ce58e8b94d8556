"""`python -m bench.misroute [--quick] [--save]`: every row, build/bench-misroute.json, exit code 1 if one fails.

Both clusters and their clients are up; one client at a time sends records, in rounds: ours, Java's, ours, ... A figure
is that of all drills of all rounds, its spread that of the rounds. A side that is slow in getting over a drill has
fewer of them in a round.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from bench.measured.recording import command_line, parse
from bench.misroute.doctor import doctor_rows
from bench.misroute.drills import Drills, Figures, quantile
from bench.misroute.first_tests import first_test_rows, kit_rows
from bench.misroute.java import java_command
from bench.misroute.routed_sides import RoutedKafka, RoutedOurs
from bench.misroute.timed_switchboard import TimedSwitchboard
from bench.noise import OtherProcesses, ended_children_seconds
from bench.processes import work_folder
from bench.rounds import Interleaved, Rounds
from bench.table import Row, Spread, Table
from signalbox.testing.switchboard_thread import SwitchboardThread

_OUR_CLIENT = [sys.executable, "-m", "bench.misroute.our_client"]


@dataclass(frozen=True)
class Plan:
    """`rounds` of `drills`, each round within `seconds`; `warm` drills before them that do not count. `repeats` of the
    doctor's runs and of the test sessions."""

    rounds: int
    drills: int
    seconds: float
    warm: int
    repeats: int


FULL, QUICK = Plan(5, 40, 60.0, 6, 3), Plan(2, 6, 20.0, 2, 1)


def drill_rows(board: SwitchboardThread, folder: Path, plan: Plan) -> Iterator[Row]:
    """Both sides in the same drill."""
    with ExitStack() as stack:
        ours = Drills(board, folder / "ours", RoutedOurs, _OUR_CLIENT)
        stack.callback(ours.stop)
        ours.start()
        sides = Interleaved(ours, _java(board, folder / "kafka", stack))
        sides.measure(partial(Drills.warm, drills=plan.warm, seconds=plan.seconds), 1)
        rounds = sides.measure(partial(Drills.measure, drills=plan.drills, seconds=plan.seconds), plan.rounds)
        ours.finish()
        java = sides.reference
        if java is not None and not _finishes(java):
            java = None
        yield from _recovery_rows(ours, java, rounds, plan)
        yield _beside_row(ours)
        if java is not None:
            yield _beside_row(java)


def _java(board: SwitchboardThread, folder: Path, stack: ExitStack) -> Drills | None:
    """None, and its reason is printed, if Apache Kafka or the client cannot be started."""
    try:
        java = Drills(board, folder, RoutedKafka, java_command())
        stack.callback(java.stop)
        java.start()
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        print(f"the Java client was not measured: {error}", flush=True)
        return None
    return java


def _finishes(java: Drills) -> bool:
    """Whether the Java client came to an end; without one its figures do not count."""
    try:
        java.finish()
    except (OSError, RuntimeError) as error:
        print(f"the Java client was not measured: {error}", flush=True)
        return False
    return True


def _recovery_rows(ours: Drills, java: Drills | None, rounds: Mapping[str, Rounds], plan: Plan) -> Iterator[Row]:
    own, others = ours.figures, java.figures if java is not None else Figures()

    def row(metric: str, name: str, share: float, bound: float | None) -> Row:
        figure = quantile(getattr(own, name), share)
        values = getattr(others, name)
        spread = Spread.of(rounds[name].ours, rounds[name].reference) if bound is not None else None
        holds = None if bound is None else figure <= bound
        return Row(metric, figure, quantile(values, share) if values else None, None, bound, holds, spread=spread)

    def count(metric: str, figure: int, reference: int | None, bound: float | None = 0) -> Row:
        holds = None if bound is None else figure <= bound
        return Row(metric, figure, reference, None, bound, holds)

    wanted = plan.rounds * plan.drills
    drills = len(own.recovered)
    yield Row("drills of 200 ms, count", drills, len(others.recovered) or None, None, wanted, drills >= wanted, True)
    yield row("right route to the next acknowledged record, p50, ms", "recovered", 0.5, None)
    yield row("right route to the next acknowledged record, p99, ms", "recovered", 0.99, 60)
    yield row("first request on a wrong route to its end, p50, ms", "noticed", 0.5, None)
    yield row("first request on a wrong route to its end, p99, ms", "noticed", 0.99, 50)
    yield count("acknowledged records lost, and records stored twice, count", ours.lost, java.lost if java else None)
    yield count(
        "records that the group consumer missed or got twice, count",
        ours.client.missed,
        java.client.missed if java else None,
    )
    failures = len(ours.client.failures), len(java.client.failures) if java else None
    yield count("records not acknowledged within 5 s, count", *failures, bound=None)


def _beside_row(side: Drills) -> Row:
    """The node whose route is right: during a drill, and without one."""
    beside, undisturbed = quantile(side.figures.beside, 0.99), quantile(side.figures.undisturbed, 0.99)
    metric = f"{side.side.name}: the other node, during drills / undisturbed, p99, ms"
    row = Row(metric, beside, undisturbed, beside / undisturbed, 1.5, beside / undisturbed <= 1.5)
    return row if isinstance(side.side, RoutedOurs) else replace(row, bound=None, holds=None)


def main() -> int:
    given = parse(command_line("python -m bench.misroute"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # this process started the nodes and stops them
    plan, folder = QUICK if given.quick else FULL, work_folder()
    table, others = Table("bench-misroute"), OtherProcesses(ended_children_seconds)
    table.head(
        "reference: the Java client on Apache Kafka 4.4.0, or what the row says; `bound` limits ours or the ratio"
    )
    try:
        for row in chain(first_test_rows(plan.repeats), kit_rows(plan.repeats)):
            table.add(row)
        for row in doctor_rows(folder / "doctor", plan.repeats):
            table.add(row)
        with SwitchboardThread(TimedSwitchboard()) as board:
            for row in drill_rows(board, folder, plan):
                table.add(row)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    table.note_noise(others.percent_of_a_core())
    return table.finish(saved=given.save)


if __name__ == "__main__":
    sys.exit(main())
