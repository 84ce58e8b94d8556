"""Keys, values and headers decoded by Python become columns of a frame."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any

import fastavro
import pytest
from pyspark.sql import SparkSession

from signalbox.pipeline.formats.evolution import SchemaChanges
from signalbox.pipeline.formats.part_decoder import PartSpec
from signalbox.pipeline.formats.resolve import followed
from signalbox.pipeline.formats.schema_text import SchemaText
from signalbox.pipeline.source_python import RECORD_DDL
from signalbox.pipeline.tables.declared_columns import fields_of
from signalbox.pipeline.tables.projection import RecordShape, dead_rows, good_rows, parsed

FLIGHT = """{"type": "record", "name": "Flight", "fields": [
  {"name": "id", "type": "long"},
  {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
  {"name": "stops", "type": {"type": "array", "items": "string"}},
  {"name": "fees", "type": {"type": "map", "values": "double"}},
  {"name": "offset", "type": ["null", "int"]}
]}"""
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def avro(**fields: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(__import__("json").loads(FLIGHT)), fields)
    return stream.getvalue()


@pytest.mark.spec("P4", "P6")
def test_values_keys_and_headers_become_columns_and_bad_ones_are_rejected(spark: SparkSession) -> None:
    good = avro(id=1, at=AT, stops=["EWR", "JFK"], fees={"tax": 1.5}, offset=7)
    rows: list[tuple[Any, ...]] = [
        (b"\0\0\0\x05", good, "t", 0, 0, AT, [("trace", b"abc")]),
        (None, None, "t", 0, 1, AT, None),
        (b"\0\0", good, "t", 0, 2, AT, None),
        (None, b"nonsense", "t", 0, 3, AT, None),
        (None, good + b"!", "t", 0, 4, AT, None),
        (None, good, "t", 0, 5, AT, [("trace", b"\xff")]),
    ]
    parts = (
        PartSpec(part="value", format="avro", schema=SchemaText(FLIGHT)),
        PartSpec(part="key", format="int"),
        PartSpec(part="header:trace", format="string"),
    )
    shape = RecordShape(parts=followed(parts, SchemaChanges()))
    frame = parsed(spark.createDataFrame(rows, RECORD_DDL), shape).persist()
    first, tombstone = good_rows(frame, shape).orderBy("offset").collect()
    assert (first.key, first.key_value, first.header_trace) == (b"\0\0\0\x05", 5, "abc")
    assert (first.id, first.stops, first.fees, first.value_offset) == (1, ["EWR", "JFK"], {"tax": 1.5}, 7)
    assert first.at.astimezone(UTC) == AT
    assert (tombstone.offset, tombstone.id, tombstone.key_value) == (1, None, None)
    assert {row.offset: row.reason for row in dead_rows(frame, shape).collect()} == {
        2: "key:length:2_not_4",
        3: "not_avro",
        4: "trailing_bytes",
        5: "header:trace:not_utf8",
    }


@pytest.mark.spec("P4")
def test_spark_reads_json_values_beside_decoded_keys(spark: SparkSession) -> None:
    rows: list[tuple[Any, ...]] = [
        (b"k1", b'{"n":1}', "t", 0, 0, AT, None),
        (b"\xff", b'{"n":"x"}', "t", 0, 1, AT, None),
    ]
    shape = RecordShape(fields_of("n INT"), parts=followed((PartSpec(part="key", format="string"),), SchemaChanges()))
    frame = parsed(spark.createDataFrame(rows, RECORD_DDL), shape)
    (row,) = good_rows(frame, shape).collect()
    assert (row.key_value, row.n) == ("k1", 1)
    assert [row.reason for row in dead_rows(frame, shape).collect()] == ["key:not_utf8"]
