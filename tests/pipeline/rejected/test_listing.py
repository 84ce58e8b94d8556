"""Rejected records are listed and shown without Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from signalbox.pipeline.object_store.location import S3Location
from signalbox.pipeline.options import OptionError
from signalbox.pipeline.rejected.listing import count_reasons, dead_path, read_rejected, shown
from signalbox.pipeline.table_state import StateError
from signalbox.pipeline.topic_client import RECORD_SCHEMA

pytestmark = pytest.mark.spec("P6")
AT = datetime(2026, 1, 2, tzinfo=UTC)


def record(partition: int, offset: int, reason: str, **content: Any) -> dict[str, Any]:
    row = {"key": None, "value": b"bad", "topic": "t", "timestamp": AT, "headers": None}
    return {**row, "partition": partition, "offset": offset, "reason": reason, **content}


@pytest.fixture
def rejected(warehouse: Path) -> pa.Table:
    rows = [
        record(1, 5, "not_json", value=b"\xff", headers=[{"key": "h", "value": b"1"}]),
        record(0, 9, "not_json"),
        record(0, 3, "type:n", key=b"k", timestamp=None),
    ]
    schema = RECORD_SCHEMA.append(pa.field("reason", pa.string()))
    write_deltalake(str(dead_path(warehouse, "t")), pa.Table.from_pylist(rows, schema=schema))
    return read_rejected(warehouse, "t")


def test_reasons_are_counted_with_their_first_record(rejected: pa.Table) -> None:
    counts = [(count.reason, count.records, count.partition, count.offset) for count in count_reasons(rejected)]
    assert counts == [("not_json", 2, 0, 9), ("type:n", 1, 0, 3)]


@pytest.mark.spec("P8")
def test_late_rows_are_one_reason() -> None:
    reasons = ["late:a_before_b", "not_json", "late:c_before_b"]
    rows = [record(0, offset, reason) for offset, reason in enumerate(reasons)]
    counts = count_reasons(pa.Table.from_pylist(rows, schema=RECORD_SCHEMA.append(pa.field("reason", pa.string()))))
    assert [(count.reason, count.records, count.offset) for count in counts] == [("late", 2, 0), ("not_json", 1, 1)]


def test_records_are_shown_with_their_bytes(rejected: pa.Table) -> None:
    assert [(row["partition"], row["offset"]) for row in shown(rejected, 10)] == [(0, 3), (0, 9), (1, 5)]
    assert [row["offset"] for row in shown(rejected, 1, partition=0)] == [3]
    assert shown(rejected, 10, partition=1, offset=5) == [
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


def test_what_is_not_there_is_named(warehouse: Path) -> None:
    with pytest.raises(StateError, match="there is no table t in"):
        read_rejected(warehouse, "t")
    write_deltalake(str(warehouse / "t"), pa.table({"value": [b"raw"]}))
    with pytest.raises(StateError, match="table t has no rejected records: its values are raw"):
        read_rejected(warehouse, "t")


@pytest.mark.spec("P10")
def test_a_store_without_settings_is_rejected_before_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "nowhere")
    with pytest.raises(OptionError, match="AWS_ENDPOINT_URL is nowhere"):
        read_rejected(S3Location("bucket", "lake"), "t")
