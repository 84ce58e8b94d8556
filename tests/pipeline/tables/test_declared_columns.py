"""Declared fields are read, or rejected with the text."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DateType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from signalbox.pipeline.event_time.rule import EventTimeRule
from signalbox.pipeline.tables.declared_columns import (
    SchemaError,
    fields_of,
    reject_event_time_columns,
    reject_partition_columns,
)


def test_declared_fields_are_read_or_rejected(spark: SparkSession) -> None:
    fields = fields_of("a INT NOT NULL, b STRUCT<c: STRING>")
    assert fields is not None
    assert [(field.name, field.nullable) for field in fields.fields] == [("a", False), ("b", True)]
    assert fields_of(None) is None
    with pytest.raises(SchemaError, match=r"the schema \[a WHAT\] cannot be read"):
        fields_of("a WHAT")
    with pytest.raises(SchemaError, match="is no list of fields"):
        fields_of("INT")


@pytest.mark.spec("P8")
def test_partition_columns_are_there_and_have_values_that_name_a_folder() -> None:
    columns = StructType().add("carrier", StringType()).add("day", DateType()).add("n", LongType())
    columns = columns.add("at", TimestampType()).add("d", DoubleType()).add("key", BinaryType())
    reject_partition_columns(columns, ("day", "carrier", "n"))
    with pytest.raises(SchemaError, match=r"partition by Carrier: the table has no such column, but carrier, day, n"):
        reject_partition_columns(columns, ("Carrier",))
    for name, kind in (("at", "timestamp"), ("d", "double"), ("key", "binary")):
        with pytest.raises(SchemaError, match=f"partition by {name}: the column is {kind}; choose"):
            reject_partition_columns(columns, (name,))


@pytest.mark.spec("P8")
def test_the_watermark_is_of_a_timestamp_and_rows_are_compared_by_columns_that_have_equality() -> None:
    columns = (
        StructType()
        .add("at", TimestampType())
        .add("day", DateType())
        .add("tags", ArrayType(MapType(StringType(), LongType())))
    )
    columns = columns.add("who", StructType().add("a", LongType()).add("b", ArrayType(StringType())))
    reject_event_time_columns(columns, EventTimeRule("at", 0, ("who", "day", "at")))
    for rule, message in (
        (EventTimeRule("AT", 0), "watermark AT: the table has no such column, but at, day, tags, who"),
        (EventTimeRule("day", 0), r"watermark day: the column is date; choose a timestamp column \(the table has at\)"),
        (EventTimeRule("at", 0, ("x",)), "deduplicate x: the table has no such column"),
        (
            EventTimeRule("at", 0, ("tags",)),
            "deduplicate tags: the column is array<map<string,bigint>>, maps cannot be",
        ),
    ):
        with pytest.raises(SchemaError, match=message):
            reject_event_time_columns(columns, rule)
