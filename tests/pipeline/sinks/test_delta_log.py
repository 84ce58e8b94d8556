"""Delta tables without Spark."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from signalbox.pipeline.schema_gate import SchemaBreakError
from signalbox.pipeline.sinks import delta_log
from signalbox.pipeline.sinks.delta_log import (
    TableFiles,
    count_rows,
    ensure_table,
    is_table,
    last_transaction,
    newest_version,
    partition_columns,
    read_table,
    read_version,
    replace_table,
    rows_of_transaction,
    rows_up_to,
)
from tests.pipeline.sinks.compacted_meanwhile import write_compacted_meanwhile


def struct(**fields: str) -> dict[str, Any]:
    columns = [{"name": name, "type": kind, "nullable": False, "metadata": {}} for name, kind in fields.items()]
    return {"type": "struct", "fields": columns}


@pytest.mark.spec("P5")
def test_a_table_is_made_grown_and_never_bent(tmp_path: Path) -> None:
    path = tmp_path / "t"
    assert not is_table(path)
    ensure_table(path, struct(a="long"))
    ensure_table(path, struct(a="long", b="string"))
    assert [(field.name, field.nullable) for field in DeltaTable(str(path)).schema().fields] == [
        ("a", True),
        ("b", True),
    ]
    with pytest.raises(SchemaBreakError, match="a is bigint in the table, string now"):
        ensure_table(path, struct(a="string"))
    protocol = DeltaTable(str(path)).protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)


@pytest.mark.spec("P5")
def test_types_are_widened_in_one_commit_that_keeps_rows_and_marks(tmp_path: Path) -> None:
    path = tmp_path / "t"
    ensure_table(path, struct(a="integer", b="float", c="date", d="string"))
    rows = pa.table({"a": pa.array([1, None], pa.int32()), "b": pa.array([0.5, 1], pa.float32()),
                     "c": pa.array([date(2026, 1, 2), None]), "d": ["x", "y"]})  # fmt: skip
    mark = CommitProperties(app_transactions=[Transaction("app", 7)])
    write_deltalake(str(path), rows, mode="append", commit_properties=mark)
    ensure_table(path, struct(a="long", b="double", c="timestamp", e="string"))
    assert read_table(path).to_pylist() == [
        {"a": 1, "b": 0.5, "c": datetime(2026, 1, 2, tzinfo=UTC), "d": "x", "e": None},
        {"a": None, "b": 1.0, "c": None, "d": "y", "e": None},
    ]
    assert last_transaction(path, "app") == 7
    protocol = DeltaTable(str(path)).protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)
    ensure_table(path, struct(a="long", b="double", c="timestamp"))
    assert DeltaTable(str(path)).version() == 3


def test_a_compaction_while_types_are_widened_doubles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t"
    ensure_table(path, struct(n="integer"))
    for number in range(4):
        write_deltalake(str(path), pa.table({"n": pa.array([number], pa.int32())}), mode="append")
    compactions: list[Path] = []
    monkeypatch.setattr(delta_log, "write_deltalake", write_compacted_meanwhile(path, compactions))
    ensure_table(path, struct(n="long", m="string"))
    assert compactions == [path]
    assert sorted(read_table(path).to_pylist(), key=lambda row: row["n"]) == [{"n": n, "m": None} for n in range(4)]


def test_a_compaction_while_content_is_replaced_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    for number in range(4):
        write_deltalake(str(path), pa.table({"n": [number]}), mode="append")
    compactions: list[Path] = []
    monkeypatch.setattr(delta_log, "write_deltalake", write_compacted_meanwhile(path, compactions))
    replace_table(path, pa.table({"n": [7, 8]}))
    assert compactions == [path]
    assert sorted(read_table(path).column("n").to_pylist()) == [7, 8]


def test_rows_are_counted_and_read(tmp_path: Path) -> None:
    path = tmp_path / "t"
    assert (count_rows(path), last_transaction(path, "app")) == (0, None)
    ensure_table(path, struct(a="long"))
    assert (count_rows(path), TableFiles(path).all(), read_table(path).num_rows) == (0, [], 0)
    write_deltalake(str(path), pa.table({"a": [1, 2, 3]}), mode="append")
    assert (count_rows(path), len(TableFiles(path).all())) == (3, 1)
    assert read_table(path, ["a"]).column("a").to_pylist() == [1, 2, 3]


def test_rows_and_content_of_an_earlier_version(tmp_path: Path) -> None:
    path = tmp_path / "t"
    assert rows_up_to(path, "app", 0) == 0
    for number in range(3):
        mark = CommitProperties(app_transactions=[Transaction("app", 5 + number)])
        write_deltalake(str(path), pa.table({"n": [number]}), mode="append", commit_properties=mark)
    earlier = TableFiles(path)
    write_deltalake(str(path), pa.table({"n": [9]}), mode="append")
    assert [rows_up_to(path, "app", last) for last in (8, 7, 6, 5)] == [4, 4, 2, 1]
    assert (earlier.rows, earlier.last_transaction("app"), earlier.last_transaction("other")) == (3, 7, None)
    assert newest_version(path) == 3
    assert sorted(read_version(path, 1).column("n").to_pylist()) == [0, 1]
    assert read_version(path, 99).num_rows == 4, "a version that the table never had"
    for file in path.glob("*.parquet"):
        file.unlink()
    replace_table(path, pa.table({"n": [1]}))
    assert read_version(path, 1).column("n").to_pylist() == [1], "the version's files are gone"


def test_rows_before_any_transaction(tmp_path: Path) -> None:
    path = tmp_path / "t"
    ensure_table(path, struct(n="long"))
    assert rows_up_to(path, "app", None) == 0
    mark = CommitProperties(app_transactions=[Transaction("app", 0)])
    write_deltalake(str(path), pa.table({"n": [1]}), mode="append", commit_properties=mark)
    assert (rows_up_to(path, "app", None), rows_up_to(path, "app", 0)) == (0, 1)


@pytest.mark.spec("P3")
def test_the_rows_of_a_batch_are_those_of_its_own_commit(tmp_path: Path) -> None:
    path = tmp_path / "t"
    assert newest_version(path) == -1
    for batch in range(3):
        mark = CommitProperties(app_transactions=[Transaction("app", batch)])
        rows = pa.table({"n": list(range(batch + 1))})
        write_deltalake(str(path), rows, mode="append", commit_properties=mark)
    DeltaTable(str(path)).optimize.compact()
    assert newest_version(path) == 3
    assert [rows_of_transaction(path, "app", batch, batch - 1) for batch in range(3)] == [1, 2, 3]
    assert rows_of_transaction(path, "app", 2, -1) == 3
    with pytest.raises(FileNotFoundError, match=r"no commit of app, batch 1"):
        rows_of_transaction(path, "app", 1, 1)


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no Delta table"):
        read_version(tmp_path / "t", 0)
    with pytest.raises(FileNotFoundError, match=r"no Delta table at .*/nowhere"):
        read_table(tmp_path / "nowhere")


def test_content_is_replaced_in_one_commit_schema_and_all(tmp_path: Path) -> None:
    path = tmp_path / "t"
    replace_table(path, pa.table({"a": [1, 2]}))
    replace_table(path, pa.table({"b": ["x"]}))
    assert read_table(path).to_pylist() == [{"b": "x"}]
    assert DeltaTable(str(path)).version() == 1


@pytest.mark.spec("P8")
def test_a_new_table_has_partition_columns_and_keeps_them(tmp_path: Path) -> None:
    assert partition_columns(tmp_path / "t") is None
    ensure_table(tmp_path / "t", struct(a="long", p="string"), ["p"])
    ensure_table(tmp_path / "t", struct(a="long", p="string", b="string"), ["b"])
    assert partition_columns(tmp_path / "t") == ("p",)
    ensure_table(tmp_path / "u", struct(a="long"))
    assert partition_columns(tmp_path / "u") == ()


def values(path: Path, files: list[str] | None) -> list[int]:
    tables = [pq.read_table(path / file, partitioning=None) for file in files or []]
    return sorted(value for table in tables for value in table.column("a").to_pylist())


def test_files_that_were_added_since_a_version(tmp_path: Path) -> None:
    path = tmp_path / "t"
    ensure_table(path, struct(a="long", day="string"), ["day"])
    for value in range(4):
        write_deltalake(str(path), pa.table({"a": [value], "day": ["a b%"]}), mode="append")
    files = TableFiles(path)
    assert (files.version, files.added_since(4), len(files.all())) == (4, [], 4)
    assert values(path, files.added_since(2)) == [2, 3]
    assert files.added_since(5) is None, "the table was restored to an earlier version"


def test_files_that_maintenance_has_rewritten_are_found_until_they_are_vacuumed(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for value in range(4):
        write_deltalake(str(path), pa.table({"a": [value]}), mode="append")
    table = DeltaTable(str(path))
    table.optimize.compact()
    write_deltalake(str(path), pa.table({"a": [4]}), mode="append")
    assert len(TableFiles(path).all()) == 2
    assert values(path, TableFiles(path).added_since(1)) == [2, 3, 4]
    table = DeltaTable(str(path))
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert TableFiles(path).added_since(1) is None
    newest = TableFiles(path).version
    assert values(path, TableFiles(path).added_since(newest - 1)) == []


def test_after_removed_rows_or_with_a_shorter_log_the_whole_table_counts(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for value in range(3):
        write_deltalake(str(path), pa.table({"a": [value]}), mode="append")
    DeltaTable(str(path)).delete("a = 1")
    assert TableFiles(path).added_since(2) is None
    assert TableFiles(path).added_since(3) == []
    DeltaTable(str(path)).create_checkpoint()
    (path / "_delta_log" / f"{3:020d}.json").unlink()
    assert TableFiles(path).added_since(2) is None
