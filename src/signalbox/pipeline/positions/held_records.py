"""Which records of a batch its tables hold already, when a run has died between the two commits of the batch.

The records that were rejected are in the table of rejected records by then, the rows are not in the table yet. Before
the batch is repeated anything that decides about a record may change: a schema file, an id that the registry did not
have, a replay that made rows of rejected records. So a repeat asks the tables: a record that one of them holds, by
partition and offset, is not written again, whatever it would become now. Each of the others is in neither table and
becomes what it is now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

import pyarrow as pa
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.sinks.delta_log import read_table

_POSITION = ["partition", "offset"]


def in_ranges(start: Mapping[str, int], end: Mapping[str, int]) -> ds.Expression:
    """The condition for the offsets [start, end) of each partition, {"topic:partition": offset}; at least one."""
    ranges = []
    for where, end_offset in end.items():
        partition = ds.field("partition") == int(where.rpartition(":")[2])
        ranges.append(partition & (ds.field("offset") >= start.get(where, 0)) & (ds.field("offset") < end_offset))
    return reduce(or_, ranges)


def held_positions(path: TableLocation, start: Mapping[str, int], end: Mapping[str, int]) -> pa.Table:
    """Partition and offset of the rows of a table that come from the offsets [start, end) of each partition."""
    return read_table(path, _POSITION, in_ranges(start, end))


def without_held(
    spark: SparkSession,
    records: DataFrame,
    tables: Sequence[TableLocation],
    start: Mapping[str, int],
    end: Mapping[str, int],
) -> DataFrame:
    """The records of a batch, [start, end) of each partition, that none of the tables holds. The held ones are few:
    those of one batch."""
    held = pa.concat_tables([held_positions(path, start, end) for path in tables])
    if not held.num_rows:
        return records
    positions = F.broadcast(spark.createDataFrame(held))
    return records.join(positions, _POSITION, "left_anti").select(*records.columns)
