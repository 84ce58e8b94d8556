"""What is measured at one side in one round, and the rows with their bounds."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bench.kafka.measurements import Figures
from bench.kafka.sides import Side
from bench.pipeline.alert_times import alert_seconds
from bench.pipeline.records import PARTITIONS, fill
from bench.processes import work_folder
from bench.rounds import Rounds
from bench.table import Row, Spread, absolute, absolute_at_least

TOPIC = "records"
JARS, PYPI = "jars", "pypi"
_RUN_S = 900.0
_UNBOUNDED = {"retention.bytes": "-1", "segment.bytes": str(2**28)}


@dataclass(frozen=True)
class Plan:
    """`rounds` of `records` records."""

    rounds: int
    records: int


class Measurements:
    """The measurements of one plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def prepare(self, side: Side) -> Figures:
        """Creates the topic and fills it."""
        side.create_topic(TOPIC, PARTITIONS, 1, _UNBOUNDED)
        fill(side.bootstrap, TOPIC, self._plan.records)
        return {}

    def run(self, what: str, profile: str, master: str = "local[2]") -> Callable[[Side], Figures]:
        """One run of `bench.pipeline.job`: `rate` in thousands of records a second, `cpu` of Spark and `nodes` of the
        brokers, both in CPU s a million records."""

        def measured(side: Side) -> Figures:
            work = work_folder()
            work.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix="lake-", dir=work))
            before = side.cpu_seconds()
            try:
                job = ("bench.pipeline.job", what, profile, master, side.bootstrap, TOPIC, str(self._plan.records))
                figures = _finished([sys.executable, "-m", *job, str(folder)], folder / "job.log")
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            millions = self._plan.records / 1e6
            return {
                "rate": self._plan.records / figures["seconds"] / 1e3,
                "cpu": (figures["cpu_s"] - figures.get("beside_s", 0.0)) / millions,
                "nodes": (side.cpu_seconds() - before) / millions,
            }

        return measured


def _finished(command: list[str], log: Path) -> dict[str, float]:
    with log.open("w") as errors:
        reaped = [sys.executable, "-m", "bench.pipeline.reaped", *command]
        done = subprocess.run(reaped, stdout=subprocess.PIPE, stderr=errors, text=True, timeout=_RUN_S, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[2:])} ended with {done.returncode}: {log.read_text()[-2000:]}")
    figures: dict[str, float] = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            figures |= json.loads(line)
    return figures


def rows_of_sources(found: Mapping[str, Rounds], profile: str) -> Iterator[Row]:
    """Ours beside Apache Kafka, by the same code."""
    yield found["rate"].row(f"{profile}: topic to Delta, thousand records/s", 1.0, higher_is_better=True)
    yield found["cpu"].row(f"{profile}: Spark, CPU s a million records", None)
    yield found["nodes"].row(f"{profile}: brokers, CPU s a million records", None)


def rows_of_alerts(profile: str) -> Iterator[Row]:
    """An alert of a continuous audit run: how long after the request that caused it."""
    with tempfile.TemporaryDirectory(dir=work_folder()) as folder:
        times = alert_seconds(Path(folder), profile)
    yield absolute(f"{profile}: alert after a rejected request, median, s", statistics.median(times), None)
    yield absolute(f"{profile}: alert after a rejected request, longest of {len(times)}, s", max(times), 5.0)


def row_of_rates(metric: str, rate: Rounds, other: Rounds, bound: float) -> Row:
    """Our rate ÷ another rate of ours, round by round: the median must be at least `bound`."""
    ratios = [own / theirs for own, theirs in zip(rate.ours, other.ours, strict=True)]
    return replace(absolute_at_least(metric, statistics.median(ratios), bound), spread=Spread.of(ratios))


def row_of_costs(metric: str, cost: Rounds, other: Rounds, bound: float) -> Row:
    """Our processor time ÷ another one of ours, round by round: the median may be at most `bound`."""
    return Rounds(tuple(own / theirs for own, theirs in zip(cost.ours, other.ours, strict=True))).own_row(metric, bound)
