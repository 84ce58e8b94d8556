"""Rejected records are listed and shown without Spark."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.options import OptionError
from signalbox.pipeline.rejected.listing import RejectedRecords, count_reasons, dead_path, parts_of, shown
from signalbox.pipeline.table_state import StateError
from signalbox.pipeline.topic_client import RECORD_SCHEMA

pytestmark = pytest.mark.spec("P6")
AT = datetime(2026, 1, 2, tzinfo=UTC)


def record(partition: int, offset: int, reason: str, **content: Any) -> dict[str, Any]:
    row = {"key": None, "value": b"bad", "topic": "t", "timestamp": AT, "headers": None}
    return {**row, "partition": partition, "offset": offset, "reason": reason, **content}


def rejected_records(warehouse: Path, *files: list[dict[str, Any]]) -> RejectedRecords:
    schema = RECORD_SCHEMA.append(pa.field("reason", pa.string()))
    for rows in files:
        write_deltalake(str(dead_path(warehouse, "t")), pa.Table.from_pylist(rows, schema=schema), mode="append")
    return RejectedRecords(warehouse, "t")


@pytest.fixture
def rejected(warehouse: Path) -> RejectedRecords:
    rows = [
        record(1, 5, "not_json", value=b"\xff", headers=[{"key": "h", "value": b"1"}]),
        record(0, 9, "not_json"),
        record(0, 3, "type:n", key=b"k", timestamp=None),
    ]
    return rejected_records(warehouse, rows[:2], rows[2:])


def test_reasons_are_counted_with_their_first_record(rejected: RejectedRecords) -> None:
    counts = [(count.reason, count.records, count.partition, count.offset) for count in count_reasons(rejected)]
    assert counts == [("not_json", 2, 0, 9), ("type:n", 1, 0, 3)]


@pytest.mark.spec("P8")
def test_late_rows_are_one_reason(warehouse: Path) -> None:
    reasons = ["late:a_before_b", "not_json", "late:c_before_b"]
    rows = [record(0, offset, reason) for offset, reason in enumerate(reasons)]
    counts = count_reasons(rejected_records(warehouse, rows))
    assert [(count.reason, count.records, count.offset) for count in counts] == [("late", 2, 0), ("not_json", 1, 1)]


def test_records_are_shown_with_their_bytes(rejected: RejectedRecords) -> None:
    assert [(row["partition"], row["offset"]) for row in shown(rejected, 10)] == [(0, 3), (0, 9), (1, 5)]
    assert [row["offset"] for row in shown(rejected, 1, partition=0)] == [3]
    assert list(shown(rejected, 10, partition=1, offset=5)) == [
        {
            "topic": "t",
            "partition": 1,
            "offset": 5,
            "reason": "not_json",
            "timestamp": "2026-01-02T00:00:00+00:00",
            "key": None,
            "value": {"base64": "/w=="},
            "headers": [{"key": "h", "value": {"text": "1"}}],
        }
    ]


def test_many_records_are_shown_in_order_and_counted_in_parts(warehouse: Path) -> None:
    files = [
        [record(partition, offset, "not_json", value=b"v" * 1_000) for offset in range(300)] for partition in (1, 0)
    ]
    rejected = rejected_records(warehouse, *files)
    positions = [(row["partition"], row["offset"]) for row in shown(rejected, 550)]
    assert positions == [(partition, offset) for partition in (0, 1) for offset in range(300)][:550]
    assert [row["offset"] for row in shown(rejected, 1)] == [0]
    parts = list(parts_of(rejected.records(), most_bytes=150_000))
    assert sum(part.num_rows for part in parts) == rejected.count() == 600
    assert all(100 <= part.num_rows <= 200 for part in parts)


def test_a_part_has_as_many_records_as_their_size_allows(warehouse: Path) -> None:
    large = [record(0, offset, "not_json", value=os.urandom(3_000_000)) for offset in range(7)]
    rejected = rejected_records(warehouse, large)
    assert 2_900_000 < rejected.row_bytes() < 3_100_000
    assert max(batch.num_rows for batch in rejected.records()) <= 2
    assert [row["offset"] for row in shown(rejected, 7)] == list(range(7))


def test_a_file_that_cannot_be_read_is_named(rejected: RejectedRecords, warehouse: Path) -> None:
    for file in (warehouse / "t_dead").glob("*.parquet"):
        file.write_bytes(b"PAR1")
    for read in (rejected.count, lambda: list(rejected.records()), lambda: list(rejected.positions())):
        with pytest.raises(StateError, match=r"the rejected records in .*t_dead cannot be read"):
            read()


def test_what_is_not_there_is_named(warehouse: Path) -> None:
    with pytest.raises(StateError, match="there is no table t in"):
        RejectedRecords(warehouse, "t")
    write_deltalake(str(warehouse / "t"), pa.table({"value": [b"raw"]}))
    with pytest.raises(StateError, match="table t has no rejected records: its values are raw"):
        RejectedRecords(warehouse, "t")


@pytest.mark.spec("P10")
def test_a_store_without_settings_is_rejected_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "nowhere")
    with pytest.raises(OptionError, match="AWS_ENDPOINT_URL is nowhere"):
        RejectedRecords(S3Location("bucket", "lake"), "t")
