"""`commit: spark`: Delta's own sink writes and commits. The default wherever its jar is.

Right for clusters and object stores, where the committer must be the engine's. Its look-up of the last transaction
makes small batches dearer than delta-rs's.
"""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from signalbox.pipeline.delta_log import last_transaction, rows_of_newest_commit
from signalbox.pipeline.schema_gate import added_columns
from signalbox.pipeline.table_sink import BatchStamp, TableTarget


def nullable(schema: StructType) -> StructType:
    """The schema with every column nullable, as our tables have them."""
    return StructType([StructField(field.name, field.dataType, True) for field in schema.fields])


class SparkSink:
    """Commits through Delta's writer."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def ensure_table(self, path: Path, schema: StructType) -> None:
        """Creates the table, or adds columns that it lacks. Raises SchemaBreakError when a type would change."""
        if not (path / "_delta_log").exists():
            empty = self._spark.createDataFrame([], nullable(schema))
            empty.write.format("delta").mode("ignore").save(str(path))
            return
        existing = json.loads(self._spark.read.format("delta").load(str(path)).schema.json())
        added = added_columns(existing, json.loads(schema.json()), path.name)
        if added:
            names = {field["name"] for field in added}
            fresh = StructType([field for field in nullable(schema).fields if field.name in names])
            self._spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS ({fresh.toDDL()})")

    def last_batch(self, target: TableTarget) -> int | None:
        """The newest batch that the table holds of this application; None = none, or no table."""
        return last_transaction(target.path, target.transaction_app)

    def append(self, frame: DataFrame, target: TableTarget, stamp: BatchStamp) -> int | None:
        """Commits the frame as the batch's rows and returns how many; None = the table held the batch already."""
        last = self.last_batch(target)
        if last is not None and last >= stamp.batch_id:
            return None
        writer = frame.write.format("delta").mode("append").option("userMetadata", stamp.metadata())
        writer = writer.option("txnAppId", target.transaction_app).option("txnVersion", stamp.batch_id)
        writer.save(str(target.path))
        return rows_of_newest_commit(target.path)

    def replace(self, frame: DataFrame, path: Path) -> None:
        """Makes the frame the whole content of the table, in one commit."""
        frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(str(path))
