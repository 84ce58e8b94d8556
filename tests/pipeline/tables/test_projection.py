"""Records become rows; invalid ones get their reason."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from signalbox.pipeline.source_python import RECORD_DDL
from signalbox.pipeline.tables.declared_columns import fields_of
from signalbox.pipeline.tables.projection import DEAD_COLUMNS, RecordShape, dead_rows, good_rows, parsed


def records(spark: SparkSession, *values: bytes | None) -> DataFrame:
    rows: list[tuple[Any, ...]] = [
        (b"k", value, "t", 0, offset, datetime(2026, 1, 1, tzinfo=UTC), None) for offset, value in enumerate(values)
    ]
    return spark.createDataFrame(rows, RECORD_DDL)


@pytest.fixture(scope="module")
def shape(spark: SparkSession) -> RecordShape:
    return RecordShape(fields_of("a INT NOT NULL, b DOUBLE, c STRING, key STRING, d ARRAY<INT>"))


CASES: list[tuple[bytes | None, str | None]] = [
    (b'{"a":1,"b":2.5,"c":"x","d":[1,2]}', None),
    (b' {"a":1} \n', None),
    (b'{"a":1,"unknown":{"deep":1}}', None),
    (b'{"a":1,"c":7}', None),
    (None, None),
    (b'{"a":null}', "missing:a"),
    (b'{"b":1.0}', "missing:a"),
    (b'{"a":"x"}', "type:a"),
    (b'{"a":3000000000}', "type:a"),
    (b'{"a":1,"b":"wide"}', "type:b"),
    (b'{"a":1,"d":"no array"}', "type:d"),
    (b"", "not_json"),
    (b"{", "not_json"),
    (b"hello", "not_json"),
    (b"\xff\xfe{}", "not_utf8"),
    (b"[1]", "not_an_object"),
    (b"17", "not_an_object"),
    (b'{"a":1} and more', "trailing_text"),
]


@pytest.mark.spec("P6")
def test_every_bad_record_is_kept_aside_with_its_reason(spark: SparkSession, shape: RecordShape) -> None:
    frame = parsed(records(spark, *(value for value, _ in CASES)), shape)
    good = {row.offset for row in good_rows(frame, shape).collect()}
    dead = {row.offset: row.reason for row in dead_rows(frame, shape).collect()}
    assert dead == {offset: reason for offset, (_, reason) in enumerate(CASES) if reason}
    assert good == {offset for offset, (_, reason) in enumerate(CASES) if reason is None}


@pytest.mark.spec("P4")
def test_good_rows_have_their_fields_and_the_records_own_columns(spark: SparkSession, shape: RecordShape) -> None:
    frame = parsed(records(spark, b'{"a":1,"b":2,"c":"x","key":"inner","d":[3]}'), shape)
    (row,) = good_rows(frame, shape).collect()
    assert (row.a, row.b, row.c, row.d, row.value_key) == (1, 2.0, "x", [3], "inner")
    assert (row.key, row.topic, row.partition, row.offset) == (b"k", "t", 0, 0)


@pytest.mark.spec("P6")
def test_dead_rows_are_the_whole_record(spark: SparkSession, shape: RecordShape) -> None:
    frame = parsed(records(spark, b"nonsense"), shape)
    dead = dead_rows(frame, shape)
    assert tuple(dead.columns) == DEAD_COLUMNS
    assert dead.collect()[0].value == b"nonsense"


@pytest.mark.spec("P6")
def test_a_further_rule_rejects_with_its_own_reason(spark: SparkSession) -> None:
    rule = "CASE WHEN _parsed.a > 5 THEN concat('too_big:', _parsed.a) END"
    shape = RecordShape(fields_of("a INT"), rejected=rule, takes_tombstones=False)
    frame = parsed(records(spark, b'{"a":9}', b'{"a":1}', None), shape)
    assert [row.reason for row in dead_rows(frame, shape).orderBy("offset").collect()] == ["too_big:9", "no_value"]


@pytest.mark.spec("P4")
def test_without_fields_the_value_stays_raw(spark: SparkSession) -> None:
    (row,) = good_rows(records(spark, b"\xff"), RecordShape()).collect()
    assert row.value == b"\xff"
