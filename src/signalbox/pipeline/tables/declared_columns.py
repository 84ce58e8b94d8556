"""What a user declares of a table's columns: fields as DDL (`carrier STRING NOT NULL, dep_time DOUBLE`), those by which
it is partitioned, and those of its rule about event time."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from signalbox.pipeline.event_time.rule import EventTimeRule

# The types whose values both committers write in the same way into the log. Not among them: times, which would make a
# folder per millisecond, and floating point, whose text differs.
_PARTITION_TYPES = (BooleanType, ByteType, DateType, DecimalType, IntegerType, LongType, ShortType, StringType)


class SchemaError(RuntimeError):
    """A declared schema that is invalid, or a topic from which no schema can be inferred."""


def fields_of(ddl: str | None) -> StructType | None:
    """Declared fields from DDL; None for none. Needs a running session. Raises SchemaError."""
    if ddl is None:
        return None
    try:
        fields = StructType.fromDDL(ddl)
    except Exception as fault:
        raise SchemaError(f"the schema [{ddl}] cannot be read: {str(fault).strip().splitlines()[0]}") from fault
    if not isinstance(fields, StructType):
        raise SchemaError(f"the schema [{ddl}] is no list of fields: write `name TYPE, name TYPE NOT NULL, ...`")
    return fields


def reject_partition_columns(columns: StructType, partition_by: Sequence[str]) -> None:
    """Raises SchemaError if a table with these columns cannot be partitioned by those named."""
    types = {field.name: field.dataType for field in columns.fields}
    for name in partition_by:
        if name not in types:
            raise SchemaError(f"partition by {name}: the table has no such column, but {', '.join(types)}")
        if not isinstance(types[name], _PARTITION_TYPES):
            raise SchemaError(
                f"partition by {name}: the column is {types[name].simpleString()}; choose a column of text, whole "
                "numbers, decimals, dates or booleans"
            )


def _can_compare(column_type: DataType) -> bool:
    if isinstance(column_type, StructType):
        return all(_can_compare(field.dataType) for field in column_type.fields)
    if isinstance(column_type, ArrayType):
        return _can_compare(column_type.elementType)
    return not isinstance(column_type, MapType)


def reject_event_time_columns(columns: StructType, rule: EventTimeRule) -> None:
    """Raises SchemaError if a table with these columns cannot have the rule."""
    types = {field.name: field.dataType for field in columns.fields}
    for option, name in (("watermark", rule.column), *(("deduplicate", name) for name in rule.deduplicate)):
        if name not in types:
            raise SchemaError(f"{option} {name}: the table has no such column, but {', '.join(types)}")
    if not isinstance(types[rule.column], TimestampType):
        times = ", ".join(name for name, column_type in types.items() if isinstance(column_type, TimestampType))
        raise SchemaError(
            f"watermark {rule.column}: the column is {types[rule.column].simpleString()}; choose a timestamp column "
            f"(the table has {times or 'none'}), or declare it as TIMESTAMP"
        )
    for name in rule.deduplicate:
        if not _can_compare(types[name]):
            raise SchemaError(
                f"deduplicate {name}: the column is {types[name].simpleString()}, maps cannot be compared"
            )
