"""Declared fields are read, or rejected with the text."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import (
    BinaryType,
    DateType,
    DoubleType,
    LongType,
    StringType,
    StructType,
    TimestampType,
)

from signalbox.pipeline.tables.declared_columns import SchemaError, fields_of, reject_partition_columns


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
