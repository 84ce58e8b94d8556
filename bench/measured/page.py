"""docs/measured.md, rendered from the newest complete run of each target. Only rows with a bound are shown.

A target that is measured beside a reference has a table; the others share one. Rows that follow each other and
differ in the statistic alone (p50, p99, worst) share a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from bench.measured.reasons import Reason
from bench.measured.run_file import Machine, Run, RunRow

_STATISTICS = ("p50", "p99", "worst", "median")
_HEAD = """\
# Measured

The newest complete run of each target with bounds on its figures, rendered by `python -m bench.measured` from the files
of [bench/history](../bench/history); older runs, and rows without a bound, are there. `make bench SAVE=1` adds a run;
the other targets with bounds do the same. The bound limits the ratio, or our figure if
there is no ratio. The number behind a "no" is that of the [reason](#what-does-not-hold)."""


def render(runs: Mapping[str, Run], reasons: list[Reason]) -> str:
    """The page. `runs` are the newest, by target; failures are explained by `reasons`."""
    numbers = {(reason.target, metric): number for number, reason in enumerate(reasons, 1) for metric in reason.metrics}
    lines = [_HEAD]
    compared = [run for run in runs.values() if _has_reference(run)]
    for run in compared:
        lines += ["", f"## `make {run.target}`", "", _origin(run), "", *_comparison(run, numbers)]
    others = [run for run in runs.values() if not _has_reference(run)]
    if others:
        lines += ["", "## Other targets", ""]
        lines += [f"- `{run.target}`: {_origin(run)}" for run in others]
        lines += ["", "| target | metric | figure | bound | holds |", "|---|---|---|---|---|"]
        lines += [_line([f"`{run.target}`", *_single(group, numbers, run)]) for run in others for group in _groups(run)]
    lines += ["", "## What does not hold", ""]
    lines += [f"{number}. `{reason.target}`: {reason.reason}" for number, reason in enumerate(reasons, 1)]
    return "\n".join(lines) + "\n"


def _has_reference(run: Run) -> bool:
    return any(row.reference is not None for row in run.rows)


def _origin(run: Run) -> str:
    """Date, commit, machine, counts and note of a run."""
    when = f"[{run.date}{' ' + run.time if run.time else ''}](../bench/history/{run.file_name})"
    commit = f"commit {run.commit}" if run.commit else "commit not recorded"
    held, failed, free = (sum(row.holds is holds for row in run.rows) for holds in (True, False, None))
    counts = f"{held} hold, {failed} fail, {free} without a bound."
    return " ".join(filter(None, (f"{when}, {commit}, {_machine(run.machine)}: {counts}", run.note)))


def _machine(machine: Machine) -> str:
    memory = None if machine.memory_gb is None else f"{_figure(machine.memory_gb)} GB"
    cores = None if machine.cores is None else f"{machine.cores} cores"
    return ", ".join(filter(None, (cores, machine.processor, memory, machine.python)))


def _comparison(run: Run, numbers: Mapping[tuple[str, str], int]) -> Iterator[str]:
    yield "| metric | ours | reference | ratio | bound | holds |"
    yield "|---|---|---|---|---|---|"
    for group in _groups(run):
        metric, ours, bound, holds = _single(group, numbers, run)
        yield _line(
            [metric, ours, _joined(row.reference for row in group), _joined(row.ratio for row in group), bound, holds]
        )


def _groups(run: Run) -> Iterator[list[RunRow]]:
    """Rows with a bound, those of one line together."""
    bounded = (row for row in run.rows if row.bound is not None)
    for _, group in groupby(bounded, key=lambda row: (_stem(row), row.unit, row.lower_bound)):
        yield list(group)


def _stem(row: RunRow) -> str:
    """The metric without its statistic."""
    stem, _, statistic = row.metric.rpartition(", ")
    return stem if statistic in _STATISTICS else row.metric


def _single(group: list[RunRow], numbers: Mapping[tuple[str, str], int], run: Run) -> list[str]:
    """Metric, figure, bound, holds."""
    metric = group[0].metric
    if len(group) > 1:
        metric = f"{_stem(group[0])}, " + " / ".join(row.metric.rpartition(", ")[2] for row in group)
    if group[0].unit is not None:
        metric += ", " + re.sub(r"\bus\b", "µs", group[0].unit)
    sign = "≥" if group[0].lower_bound else "≤"
    holds = ["yes" if row.holds else f"**no** ({numbers.get((run.target, row.metric), '?')})" for row in group]
    result = holds[0] if len(set(holds)) == 1 else " / ".join(holds)
    return [metric, _joined(row.ours for row in group), f"{sign} {_joined(row.bound for row in group)}", result]


def _joined(values: Iterable[float | None]) -> str:
    """Figures with slashes between; equal ones once."""
    cells = ["–" if value is None else _figure(value) for value in values]
    return cells[0] if len(set(cells)) == 1 else " / ".join(cells)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}".rstrip("0").rstrip(".")


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
