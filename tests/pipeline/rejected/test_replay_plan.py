"""The plan of a replay and the removal of its records."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from signalbox.pipeline.rejected import replay_plan
from signalbox.pipeline.rejected.replay_plan import ReplayPlan, drop_plan, read_plan, take_out, write_plan
from signalbox.pipeline.sinks.delta_log import last_transaction, read_table
from signalbox.pipeline.table_state import StateError

pytestmark = pytest.mark.spec("P6")


def test_a_plan_is_read_back_until_it_is_dropped(tmp_path: Path) -> None:
    plan = ReplayPlan(3, (("t", 0, 5), ("t", 1, 7)))
    assert read_plan(tmp_path) is None
    write_plan(tmp_path, plan)
    assert read_plan(tmp_path) == plan
    drop_plan(tmp_path)
    drop_plan(tmp_path)
    assert read_plan(tmp_path) is None


def test_a_corrupt_plan_is_named(tmp_path: Path) -> None:
    (tmp_path / "replay.json").write_text("{")
    with pytest.raises(StateError, match=r"replay\.json cannot be read"):
        read_plan(tmp_path)


def test_records_are_taken_out_once_and_the_marks_stay(tmp_path: Path) -> None:
    path = tmp_path / "t_dead"
    rows = pa.table(
        {"topic": ["t", "t", "t"], "partition": [0, 0, 1], "offset": [1, 2, 1], "value": [b"a", b"b", b"c"]}
    )
    mark = CommitProperties(app_transactions=[Transaction("app", 4)])
    write_deltalake(str(path), rows, mode="append", commit_properties=mark)
    assert take_out(path, (("t", 0, 1), ("t", 9, 9))) == 1
    assert take_out(path, (("t", 0, 1),)) == 0
    assert DeltaTable(str(path)).version() == 1
    assert read_table(path, ["value"]).column("value").to_pylist() == [b"b", b"c"]
    assert last_transaction(path, "app") == 4


def test_a_compaction_while_records_are_taken_out_doubles_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t_dead"
    for offset in range(4):
        row = pa.table({"topic": ["t"], "partition": [0], "offset": [offset], "value": [b"v"]})
        write_deltalake(str(path), row, mode="append")
    opened: list[int] = []

    def open_before_a_compaction(location: Path) -> DeltaTable:
        table = DeltaTable(str(location))
        opened.append(table.version())
        if len(opened) == 1:
            DeltaTable(str(location)).optimize.compact()
        return table

    monkeypatch.setattr(replay_plan, "open_table", open_before_a_compaction)
    assert take_out(path, (("t", 0, 1),)) == 1
    assert opened == [3, 4]
    assert sorted(read_table(path, ["offset"]).column("offset").to_pylist()) == [0, 2, 3]


def test_only_files_with_an_offset_of_the_range_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t_dead"
    for offset in range(4):
        row = pa.table({"topic": ["t"], "partition": [0], "offset": [offset], "value": [b"v"]})
        write_deltalake(str(path), row, mode="append")
    assert take_out(path, (("t", 0, 1),)) == 1
    history = DeltaTable(str(path)).history(1)[0]
    assert (history["operationMetrics"]["num_target_files_scanned"], history["operation"]) == (1, "MERGE")
