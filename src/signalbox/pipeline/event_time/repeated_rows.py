"""Rows that repeat an earlier one: equal in the columns of the rule to a row of the table, or of the batch.

The order of a batch's rows is that of partitions and offsets, so a repeated batch drops the same rows. Nulls are equal
to each other, as in Spark's `dropDuplicatesWithinWatermark`. Only the compared columns are sorted and joined; the rows
themselves are not moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from signalbox.pipeline.event_time.recent_files import FileGroup, TimeRange, recent_files
from signalbox.pipeline.event_time.rule import EventTimeRule
from signalbox.pipeline.object_store.location import S3Location, TableLocation
from signalbox.pipeline.object_store.stored_rows import stored_rows

_POSITION = ("partition", "offset")
_NUMBER = "_number"


def _read_group(rows: DataFrame, table: TableLocation, group: FileGroup, names: Sequence[str]) -> DataFrame:
    # Nullable, as Spark reads columns of files.
    in_files = StructType([StructField(name, rows.schema[name].dataType) for name in names if name not in group.values])
    if not in_files.fields:
        frame = rows.sparkSession.range(1).select()  # the files are those of one row of partition values
    elif isinstance(table, S3Location):
        frame = stored_rows(rows.sparkSession, table, group.files, in_files)
    else:
        frame = rows.sparkSession.read.schema(in_files).parquet(*(str(table / name) for name in group.files))
    for name, value in group.values.items():
        frame = frame.withColumn(name, F.lit(value).cast(rows.schema[name].dataType))
    return frame.select(*(F.col(f"`{name}`") for name in names))


def recent_rows(rows: DataFrame, table: TableLocation, rule: EventTimeRule, times: TimeRange) -> DataFrame | None:
    """The compared columns of the table's rows in a range of event times; None = there are none. `rows` has the columns
    of the table."""
    groups = recent_files(table, rule.column, times, rule.deduplicate)
    if not groups:
        return None
    names = [*rule.deduplicate, *(() if rule.column in rule.deduplicate else (rule.column,))]
    frame = reduce(DataFrame.union, (_read_group(rows, table, group, names) for group in groups))
    event_time = F.unix_micros(F.col(f"`{rule.column}`"))
    frame = frame.filter(event_time >= F.lit(times.least_us))
    if times.greatest_us is not None:
        frame = frame.filter(event_time <= F.lit(times.greatest_us))
    return frame.select(*(F.col(f"`{name}`") for name in rule.deduplicate))


def without_repeated(
    rows: DataFrame, recent: DataFrame | None, columns: Sequence[str], partition_by: Sequence[str] = ()
) -> DataFrame:
    """The rows without those that repeat a row of `recent` or an earlier one of themselves. `partition_by`: partition
    columns of the table, in which the empty text is null."""

    def compared(frame: DataFrame, prefix: str) -> DataFrame:
        selected = []
        for number, name in enumerate(columns):
            column = F.col(f"`{name}`")
            if name in partition_by and isinstance(rows.schema[name].dataType, StringType):
                column = F.nullif(column, F.lit(""))
            selected.append(column.alias(f"{prefix}{number}"))
        there = [name for name in _POSITION if prefix == "_n"]
        return frame.select(*selected, *(F.col(f"`{name}`").alias(f"_{name}") for name in there))

    new = compared(rows, "_n")
    keys = [F.col(f"_n{number}") for number in range(len(columns))]
    order = [F.col(f"_{name}") for name in _POSITION]
    new = new.withColumn(_NUMBER, F.row_number().over(Window.partitionBy(*keys).orderBy(*order)))
    repeated = new.filter(F.col(_NUMBER) > 1)
    if recent is not None:
        equal = [F.col(f"_n{number}").eqNullSafe(F.col(f"_r{number}")) for number in range(len(columns))]
        firsts = new.filter(F.col(_NUMBER) == 1)
        repeated = repeated.union(firsts.join(compared(recent, "_r"), reduce(and_, equal), "left_semi"))
    positions = F.broadcast(repeated.select("_partition", "_offset"))
    at = (F.col("`partition`") == F.col("_partition")) & (F.col("`offset`") == F.col("_offset"))
    return rows.join(positions, at, "left_anti")
