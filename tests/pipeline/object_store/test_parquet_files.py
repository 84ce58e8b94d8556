"""What a Spark task does with its rows, without Spark: files, their statistics, partitions."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from signalbox.pipeline.object_store import parquet_files
from signalbox.pipeline.object_store.parquet_files import (
    PARTITION,
    footer_statistics,
    statistics_text,
    store_file_system,
    task_writer,
    write_files,
)
from signalbox.pipeline.object_store.settings import StoreSettings

pytestmark = pytest.mark.spec("P10")


def written(folder: Path, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    (folder / "files").mkdir()
    return list(write_files(iter(batches), fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem()), "files"))


def test_statistics_come_from_the_footer(tmp_path: Path) -> None:
    table = pa.table(
        {"n": [3, 1, None], "text": ["x", "y", "z"], "d": [0.5, float("nan"), 2.5], "b": [True, False, None]}
    )
    pq.write_table(table, tmp_path / "f.parquet")
    assert footer_statistics(pq.read_metadata(tmp_path / "f.parquet")) == {
        "numRecords": 3,
        "minValues": {"n": 1, "d": 0.5},
        "maxValues": {"n": 3, "d": 2.5},
        "nullCount": {"n": 1, "d": 0},
    }


def test_statistics_are_json_or_an_error(tmp_path: Path) -> None:
    [file] = written(tmp_path, pa.record_batch({"d": pa.array([float("inf"), 1.0])}))
    assert json.loads(file["statistics"]) == {"numRecords": 2, "minValues": {}, "maxValues": {}, "nullCount": {"d": 0}}
    with pytest.raises(ValueError, match="JSON"):
        statistics_text({"maxValues": {"d": float("inf")}})


def test_the_rows_of_a_task_are_one_file_with_large_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "ROW_GROUP_BYTES", 60)
    batches = [pa.record_batch({"n": pa.array(range(start, start + 5))}) for start in (0, 5, 10)]
    [file] = written(tmp_path, *batches, pa.record_batch({"n": pa.array([], pa.int64())}))
    path = tmp_path / file["path"]
    assert (path.stat().st_size, json.loads(file["partition_values"])) == (file["size_bytes"], {})
    assert json.loads(file["statistics"])["numRecords"] == 15
    assert pq.read_table(path).column("n").to_pylist() == list(range(15))
    assert pq.read_metadata(path).num_row_groups == 2


def test_a_task_without_rows_writes_no_file(tmp_path: Path) -> None:
    assert written(tmp_path) == []
    assert list((tmp_path / "files").iterdir()) == []


def test_sorted_rows_become_a_file_per_partition(tmp_path: Path) -> None:
    kind = pa.struct([("day", pa.string()), ("carrier", pa.string())])

    def batch(*rows: tuple[int, str | None, str]) -> pa.RecordBatch:
        values = [{"day": day, "carrier": carrier} for _, day, carrier in rows]
        return pa.record_batch({"n": [row[0] for row in rows], PARTITION: pa.array(values, kind)})

    files = written(tmp_path, batch((1, None, "A"), (2, None, "B")), batch((3, None, "B"), (4, "x", "B")))
    partitions = [tuple(json.loads(file["partition_values"]).values()) for file in files]
    rows = [pq.read_table(tmp_path / file["path"]).to_pydict() for file in files]
    assert partitions == [(None, "A"), (None, "B"), ("x", "B")]
    assert rows == [{"n": [1]}, {"n": [2, 3]}, {"n": [4]}]


def test_the_client_has_the_settings_which_are_sent_to_the_tasks() -> None:
    settings = StoreSettings(endpoint="http://127.0.0.1:1", access_key="a", secret_key="b", allow_http=True)
    sent = pickle.loads(pickle.dumps(settings))
    assert store_file_system(sent) == store_file_system(settings)
    assert callable(task_writer(sent, "bucket/table", "batches"))


@pytest.mark.spec("P8")
def test_statistics_of_times_are_milliseconds_around_them(tmp_path: Path) -> None:
    def times(*microseconds: int | None, zone: str | None = "UTC", unit: str = "us") -> dict[str, Any]:
        column = pa.array(microseconds, pa.timestamp(unit, tz=zone))
        pq.write_table(pa.table({"at": column}), tmp_path / "f.parquet", coerce_timestamps=None)
        statistics = footer_statistics(pq.read_metadata(tmp_path / "f.parquet"))
        return {name: statistics[name] for name in ("minValues", "maxValues")}

    assert times(1_001, None, 5_999) == {
        "minValues": {"at": "1970-01-01T00:00:00.001Z"},
        "maxValues": {"at": "1970-01-01T00:00:00.006Z"},
    }
    assert times(-1) == {
        "minValues": {"at": "1969-12-31T23:59:59.999Z"},
        "maxValues": {"at": "1970-01-01T00:00:00.000Z"},
    }
    nothing: dict[str, Any] = {"minValues": {}, "maxValues": {}}
    assert times(None) == nothing
    assert times(1, 253_402_300_800_000_000) == nothing  # the year 10000
    assert times(1, zone=None) == nothing
    assert times(1, unit="ns") == nothing
