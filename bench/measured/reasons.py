"""Why rows fail: bench/history/reasons.toml, per cause its target, metrics and a sentence."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.measured.run_file import HISTORY, Run

REASONS = HISTORY / "reasons.toml"


@dataclass(frozen=True)
class Reason:
    target: str
    metrics: tuple[str, ...]
    reason: str


def read_reasons(path: Path = REASONS) -> list[Reason]:
    """All reasons, in the order of the file."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["failure"]
    return [Reason(entry["target"], tuple(entry["metrics"]), entry["reason"]) for entry in entries]


def disagreements(runs: Mapping[str, Run], reasons: list[Reason]) -> list[str]:
    """Failing rows without a reason, and reasons without a failing row. `runs` are the newest, by target."""
    failing = {(run.target, row.metric) for run in runs.values() for row in run.rows if row.holds is False}
    explained = [(reason.target, metric) for reason in reasons for metric in reason.metrics]
    return [
        *(f"{target}: {metric}: fails without a reason" for target, metric in sorted(failing - set(explained))),
        *(f"{target}: {metric}: a reason, and no failing row" for target, metric in sorted(set(explained) - failing)),
        *(
            f"{target}: {metric}: two reasons"
            for target, metric in sorted(set(explained))
            if explained.count((target, metric)) > 1
        ),
    ]
