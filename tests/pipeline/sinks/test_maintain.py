"""Tables are compacted, and everything in them stays."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from signalbox.pipeline.audit.rollup_table import ROLLUPS, rollup_path
from signalbox.pipeline.options import OptionError, TemporaryError
from signalbox.pipeline.sinks import maintain
from signalbox.pipeline.sinks.deleted_keys import deleted_keys_path
from signalbox.pipeline.sinks.delta_log import last_transaction, read_table
from signalbox.pipeline.sinks.maintain import MaintenanceError, maintain_table
from signalbox.pipeline.table_state import StateFolder

pytestmark = pytest.mark.spec("P8")


def fill(path: Path, batches: range) -> None:
    for batch in batches:
        mark = CommitProperties(app_transactions=[Transaction("app", batch)])
        write_deltalake(str(path), pa.table({"n": [batch]}), mode="append", commit_properties=mark)


def make_old(path: Path, hours: int) -> None:
    """Files and log as if they had been written so long ago, without a checkpoint."""
    for checkpoint in (*(path / "_delta_log").glob("*.checkpoint.parquet"), path / "_delta_log" / "_last_checkpoint"):
        checkpoint.unlink()
    then = time.time() - hours * 3600
    for file in path.rglob("*"):
        os.utime(file, (then, then))
    for log in (path / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in log.read_text().splitlines()]
        for action in actions:
            if "remove" in action:
                action["remove"]["deletionTimestamp"] = int(then * 1000)
        log.write_text("\n".join(json.dumps(action) for action in actions) + "\n")


def test_small_files_become_one_and_rows_and_marks_stay(tmp_path: Path) -> None:
    fill(tmp_path / "t", range(12))
    fill(tmp_path / "t_dead", range(3))
    lines: list[str] = []
    table, dead = maintain_table(tmp_path, "t", say=lines.append)
    assert (table.table, table.files_before, table.files_after, table.deleted_files) == ("t", 12, 1, 0)
    assert (dead.table, dead.files_before, dead.files_after) == ("t_dead", 3, 1)
    assert lines[0].startswith("t: 12 files became 1, 0 old files deleted, checkpoint of version ")
    assert sorted(read_table(tmp_path / "t").column("n").to_pylist()) == list(range(12))
    assert last_transaction(tmp_path / "t", "app") == 11
    assert (tmp_path / "t" / "_delta_log" / "_last_checkpoint").is_file()
    fill(tmp_path / "t", range(12, 13))
    assert last_transaction(tmp_path / "t", "app") == 12
    assert len(read_table(tmp_path / "t")) == 13


def test_the_marks_are_in_the_checkpoint(tmp_path: Path) -> None:
    """Without the log before it, as after the retention of the log."""
    fill(tmp_path / "t", range(4))
    (result,) = maintain_table(tmp_path, "t", say=lambda _: None)
    for log in (tmp_path / "t" / "_delta_log").glob("*.json"):
        if int(log.stem) < result.checkpoint_version:
            log.unlink()
    assert last_transaction(tmp_path / "t", "app") == 3
    assert sorted(read_table(tmp_path / "t").column("n").to_pylist()) == list(range(4))


def test_old_files_and_those_of_killed_batches_are_deleted(tmp_path: Path) -> None:
    path = tmp_path / "t"
    fill(path, range(3))
    maintain_table(tmp_path, "t", say=lambda _: None)
    orphan = path / "batches" / "x" / "1" / "part.parquet"
    orphan.parent.mkdir(parents=True)
    orphan.write_bytes(next(iter(path.glob("*.parquet"))).read_bytes())
    make_old(path, hours=3)
    (result,) = maintain_table(tmp_path, "t", retention_hours=2, say=lambda _: None)
    assert result.deleted_files == 4
    assert not orphan.exists()
    assert len(list(path.glob("*.parquet"))) == 1
    assert sorted(read_table(path).column("n").to_pylist()) == [0, 1, 2]
    assert DeltaTable(str(path)).file_uris()


def test_a_merge_that_commits_first_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "t", range(4))
    merges = ["n = 2"]

    def opened(path: Path) -> DeltaTable:
        table = DeltaTable(str(path))
        if merges:
            DeltaTable(str(path)).delete(merges.pop())
        return table

    monkeypatch.setattr(maintain, "open_table", opened)
    (result,) = maintain_table(tmp_path, "t", say=lambda _: None)
    assert (result.files_before, result.files_after) == (3, 1)
    assert sorted(read_table(tmp_path / "t").column("n").to_pylist()) == [0, 1, 3]


def test_conflicts_without_end_are_a_temporary_error(tmp_path: Path) -> None:
    fill(tmp_path / "t", range(4))
    (tmp_path / "t" / "_delta_log" / f"{4:020d}.json").mkdir()  # no commit gets this version
    with pytest.raises(TemporaryError, match=r"table .*/t was not maintained, other commits came first"):
        maintain_table(tmp_path, "t", say=lambda _: None)


def test_the_deleted_keys_of_a_table_are_maintained(tmp_path: Path) -> None:
    fill(tmp_path / "t", range(2))
    fill(deleted_keys_path(tmp_path / ".signalbox" / "t"), range(3))
    _, deleted = maintain_table(tmp_path, "t", say=lambda _: None)
    assert (deleted.table, deleted.files_before, deleted.files_after) == ("deleted_keys", 3, 1)


def test_deleted_keys_at_another_checkpoint_location_are_maintained(tmp_path: Path) -> None:
    fill(tmp_path / "lake" / "t", range(2))
    fill(deleted_keys_path(StateFolder(tmp_path / "state", "t").path), range(3))
    assert len(maintain_table(tmp_path / "lake", "t", say=lambda _: None)) == 1
    _, deleted = maintain_table(tmp_path / "lake", "t", checkpoint_location=tmp_path / "state", say=lambda _: None)
    assert (deleted.table, deleted.files_before) == ("deleted_keys", 3)


def test_the_roll_ups_of_an_audit_are_maintained_and_no_other_pipelines_table(tmp_path: Path) -> None:
    paths = [tmp_path / "t", *(tmp_path / rollup_path(tmp_path / "t", rollup).name for rollup in ROLLUPS)]
    for path in paths:
        fill(path, range(2))
    assert [table.table for table in maintain_table(tmp_path, "t", say=lambda _: None)] == ["t"]
    (StateFolder(tmp_path, "t").path / "rollups").mkdir(parents=True)
    done = maintain_table(tmp_path, "t", say=lambda _: None)
    assert [table.table for table in done] == [path.name for path in paths]


def test_what_cannot_be_done_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError) as raised:
        maintain_table(tmp_path, "none", target_mb=0, retention_hours=0)
    assert [fault.split(":")[0] for fault in raised.value.faults] == ["target size is 0 MB", "retention is 0 hours"]
    with pytest.raises(MaintenanceError, match="there is no table none in"):
        maintain_table(tmp_path, "none")
    fill(tmp_path / "t", range(2))
    next(iter((tmp_path / "t").glob("*.parquet"))).unlink()
    with pytest.raises(MaintenanceError, match=r"table .*/t cannot be maintained"):
        maintain_table(tmp_path, "t", say=lambda _: None)


def ranges(path: Path, column: str) -> list[tuple[int, int]]:
    actions = DeltaTable(str(path)).get_add_actions(flatten=True)
    return sorted(
        zip(*(pa.table(actions).column(f"{end}.{column}").to_pylist() for end in ("min", "max")), strict=True)
    )


def test_a_clustered_table_has_files_with_small_ranges(tmp_path: Path) -> None:
    rows = 40_000
    numbers = pa.array((index * 7919) % rows for index in range(rows))
    for _ in range(2):
        content = pa.table({"n": numbers, "text": [f"row {n.as_py()} {n.as_py() ** 7}" for n in numbers]})
        write_deltalake(str(tmp_path / "t"), content, mode="append")
    fill(tmp_path / "t_dead", range(2))
    assert ranges(tmp_path / "t", "n") == [(0, rows - 1)] * 2
    table, dead = maintain_table(tmp_path, "t", target_mb=1, cluster_by=["n"], say=lambda _: None)
    assert (table.files_before, dead.files_after) == (2, 1)
    assert table.files_after == len(ranges(tmp_path / "t", "n")) > 1
    assert sum(high - low for low, high in ranges(tmp_path / "t", "n")) <= rows
    assert sorted(read_table(tmp_path / "t").column("n").to_pylist()) == sorted([*range(rows)] * 2)


def test_columns_that_cannot_cluster_are_named(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), pa.table({"n": [1], "p": ["x"]}), partition_by=["p"])
    with pytest.raises(OptionError) as raised:
        maintain_table(tmp_path, "t", cluster_by=["p", "none"])
    assert raised.value.faults == [
        "cluster by p: the table is partitioned by it",
        "cluster by none: the table has no such column, but n, p",
    ]
    with pytest.raises(OptionError, match="name each column once"):
        maintain_table(tmp_path, "t", cluster_by=["n", "n"])
