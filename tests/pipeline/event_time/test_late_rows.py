"""Rows before the watermark become rejected records with a reason; the others stay as they are."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from signalbox.pipeline.event_time.late_rows import ParsedCounts, count_parsed, reject_late, with_event_times
from signalbox.pipeline.event_time.rule import EventTimeRule
from signalbox.pipeline.source_python import RECORD_DDL
from signalbox.pipeline.tables.declared_columns import fields_of
from signalbox.pipeline.tables.projection import RecordShape, dead_rows, good_rows, parsed

pytestmark = pytest.mark.spec("P8")


def records(spark: SparkSession, *values: bytes) -> DataFrame:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    rows: list[Any] = [(None, value, "t", 0, offset, at, None) for offset, value in enumerate(values)]
    return spark.createDataFrame(rows, RECORD_DDL)


def test_a_row_is_late_before_the_watermark_and_not_at_it(spark: SparkSession) -> None:
    shape = RecordShape(fields_of("at TIMESTAMP"), has_watermark=True)
    values = (b'{"at":"1970-01-01T00:00:01Z"}', b'{"at":"1969-12-31 23:59:59.999999Z"}', b'{"at":null}', b"bad")
    frame = with_event_times(parsed(records(spark, *values), shape), shape, EventTimeRule("at", 0))
    assert count_parsed(frame, has_event_times=True) == ParsedCounts(4, 1, 0, -1, 1_000_000)
    at_first, late = reject_late(frame, -1), reject_late(frame, 0)
    assert count_parsed(at_first, has_event_times=True).late == 0
    assert count_parsed(late, has_event_times=True) == ParsedCounts(4, 2, 1, 1_000_000, 1_000_000)
    assert [row["offset"] for row in good_rows(late, shape).collect()] == [0, 2]
    assert [(row["offset"], row["value"], row["reason"]) for row in dead_rows(late, shape).collect()] == [
        (1, values[1], "late:1969-12-31T23:59:59.999999Z_before_1970-01-01T00:00:00.000000Z"),
        (3, b"bad", "not_json"),
    ]


def test_years_of_more_digits_have_a_text(spark: SparkSession) -> None:
    shape = RecordShape(fields_of("at TIMESTAMP"), has_watermark=True)
    frame = with_event_times(parsed(records(spark, b'{"at":"2026-01-01"}'), shape), shape, EventTimeRule("at", 0))
    (row,) = dead_rows(reject_late(frame, 253_402_300_800_000_000), shape).collect()
    assert row["reason"] == "late:2026-01-01T00:00:00.000000Z_before_+10000-01-01T00:00:00.000000Z"


def test_raw_values_are_late_by_the_time_of_their_record(spark: SparkSession) -> None:
    shape = RecordShape(has_watermark=True)
    frame = with_event_times(parsed(records(spark, b"x"), shape), shape, EventTimeRule("timestamp", 0))
    assert count_parsed(reject_late(frame, 2 * 10**15), has_event_times=True).late == 1
    assert count_parsed(parsed(records(spark, b"x"), shape), has_event_times=False) == ParsedCounts(1, 0)
