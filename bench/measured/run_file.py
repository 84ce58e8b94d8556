"""A recorded run: one JSON file of bench/history, `<date>-<target>-<commit>.json`.

`unknown` stands for a commit that was not recorded; a number follows for another run of the same date, target and
commit. A value that was not recorded is null.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

HISTORY = Path("bench/history")

_NAME = re.compile(r"(\d{4}-\d\d-\d\d)-([a-z]+(?:-[a-z]+)*)-([0-9a-f]{7,40}|unknown)(?:-(\d+))?")
_TIME = re.compile(r"\d\d:\d\d")


@dataclass(frozen=True)
class Machine:
    """The machine of a run. `system` is the operating system, with what else matters (compiler, virtual machine)."""

    cores: int | None
    processor: str | None
    memory_gb: float | None
    python: str | None
    system: str | None


@dataclass(frozen=True)
class RunRow:
    """One figure. `bound` limits `ratio`, or `ours` in a row without a ratio: from above, or from below if
    `lower_bound`. `holds` is None in a row without a bound."""

    metric: str
    unit: str | None
    ours: float | None
    reference: float | None
    ratio: float | None
    bound: float | None
    lower_bound: bool
    holds: bool | None
    note: str | None

    def consistent(self) -> bool:
        """True if `holds` follows from the figures, where they were recorded."""
        if self.bound is None:
            return self.holds is None
        compared = self.ours if self.ratio is None else self.ratio
        if compared is None:
            return self.holds is not None
        return self.holds is (compared >= self.bound if self.lower_bound else compared <= self.bound)


@dataclass(frozen=True)
class Run:
    """One run of a target. `complete`: it has every row with a bound that the target had; only such a run is shown on
    the page. `time` is when it began; `number` distinguishes files of the same date, target and commit."""

    target: str
    date: str
    time: str | None
    commit: str | None
    complete: bool
    machine: Machine
    note: str | None
    rows: tuple[RunRow, ...]
    number: int = 1

    @property
    def file_name(self) -> str:
        suffix = f"-{self.number}" if self.number > 1 else ""
        return f"{self.date}-{self.target}-{self.commit or 'unknown'}{suffix}.json"

    @property
    def age(self) -> tuple[str, str, int]:
        """Sorts runs of one target, the oldest first."""
        return self.date, self.time or "", self.number


def read_run(path: Path) -> Run:
    """The run of a file; ValueError says what is wrong with it."""
    entry = json.loads(path.read_text(encoding="utf-8"))
    name = _NAME.fullmatch(path.stem)
    if name is None:
        raise ValueError(f"{path.name}: the name is not <date>-<target>-<commit>.json")
    _check_keys(path, entry, {field.name for field in fields(Run)} - {"number"})
    _check_keys(path, entry["machine"], {field.name for field in fields(Machine)})
    for row in entry["rows"]:
        _check_keys(path, row, {field.name for field in fields(RunRow)})
    machine, rows = Machine(**entry.pop("machine")), tuple(RunRow(**row) for row in entry.pop("rows"))
    run = Run(**entry, machine=machine, rows=rows, number=int(name[4] or 1))
    _check(path, run)
    return run


def _check_keys(path: Path, entry: dict[str, Any], keys: set[str]) -> None:
    if entry.keys() != keys:
        raise ValueError(f"{path.name}: missing or unknown keys: {sorted(entry.keys() ^ keys)}")


def _check(path: Path, run: Run) -> None:
    if run.file_name != path.name:
        raise ValueError(f"{path.name}: date, target or commit differ from the content, which is {run.file_name}")
    if run.time is not None and not _TIME.fullmatch(run.time):
        raise ValueError(f"{path.name}: {run.time!r} is not a time of day")
    if run.complete and len({row.metric for row in run.rows}) != len(run.rows):
        raise ValueError(f"{path.name}: a complete run has a metric twice")
    for row in run.rows:
        numbers = (row.ours, row.reference, row.ratio, row.bound)
        if not all(isinstance(value, int | float | None) and math.isfinite(value or 0) for value in numbers):
            raise ValueError(f"{path.name}: {row.metric}: a figure is not a number")
        if not row.consistent():
            raise ValueError(f"{path.name}: {row.metric}: `holds` contradicts the figures")


def read_history(folder: Path = HISTORY) -> list[Run]:
    """All runs, the oldest first."""
    return sorted((read_run(path) for path in folder.glob("*.json")), key=lambda run: (run.target, run.age))


def newest(runs: Iterable[Run]) -> dict[str, Run]:
    """The newest complete run of each target, by target."""
    return {run.target: run for run in sorted(runs, key=lambda run: (run.target, run.age)) if run.complete}


def write_run(run: Run, folder: Path = HISTORY) -> Path:
    """Writes a file with one line per row; its content has no number, which is part of the name only."""
    head = asdict(run)
    rows, _ = head.pop("rows"), head.pop("number")
    lines = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in head.items()]
    body = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in rows)
    path = folder / run.file_name
    path.write_text("{\n" + "\n".join(lines) + '\n  "rows": [\n' + body + "\n  ]\n}\n", encoding="utf-8")
    return path
