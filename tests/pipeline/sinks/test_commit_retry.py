"""Commits are repeated when another one came first, and no overwrite is committed beside a compaction."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from signalbox.pipeline.sinks.commit_retry import ALONE, MAX_ATTEMPTS, repeated_on_conflict
from signalbox.pipeline.sinks.delta_log import read_table

pytestmark = pytest.mark.spec("P8")


def filled(path: Path) -> Path:
    for number in range(3):
        write_deltalake(str(path), pa.table({"n": [number]}), mode="append")
    return path


def numbers(path: Path) -> list[int]:
    return sorted(read_table(path).column("n").to_pylist())


def test_an_overwrite_after_a_compaction_is_repeated(tmp_path: Path) -> None:
    path = filled(tmp_path / "t")
    compactions = [path]

    @repeated_on_conflict
    def overwrite(content: pa.Table) -> str:
        table = DeltaTable(str(path))
        if compactions:
            DeltaTable(str(compactions.pop())).optimize.compact()
        write_deltalake(table, content, mode="overwrite", commit_properties=ALONE)
        return "written"

    assert overwrite(pa.table({"n": [7]})) == "written"
    assert numbers(path) == [7]


def test_there_is_an_end_of_attempts(tmp_path: Path) -> None:
    path = filled(tmp_path / "t")
    (path / "_delta_log" / f"{3:020d}.json").mkdir()  # no commit gets this version
    attempts: list[int] = []

    @repeated_on_conflict
    def append() -> None:
        attempts.append(1)
        write_deltalake(str(path), pa.table({"n": [7]}), mode="append")

    with pytest.raises(CommitFailedError):
        append()
    assert len(attempts) == MAX_ATTEMPTS


def test_other_errors_are_not_repeated() -> None:
    attempts: list[int] = []

    @repeated_on_conflict
    def fail() -> None:
        attempts.append(1)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert attempts == [1]
