"""`commit: spark`: Delta's own sink writes and commits. The default if its jar is present.

Its look-up of the last transaction makes small batches more expensive than with delta-rs. The log is read as local
files (`delta_log.py`), so the warehouse is a folder that the driver and every executor see under one path.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame

from signalbox.pipeline.sinks.delta_log import last_transaction, newest_version, rows_of_transaction
from signalbox.pipeline.sinks.table_sink import BatchStamp, TableTarget


class SparkSink:
    """Commits through Delta's writer."""

    def last_batch(self, target: TableTarget) -> int | None:
        """The newest batch of this application that the table holds; None = none, or no table."""
        return last_transaction(target.path, target.transaction_app)

    def append(self, frame: DataFrame, target: TableTarget, stamp: BatchStamp) -> int | None:
        """Commits the frame as the batch's rows, returns their number; None = the table held the batch already."""
        last = self.last_batch(target)
        if last is not None and last >= stamp.batch_id:
            return None
        before = newest_version(target.path)
        writer = frame.write.format("delta").mode("append").option("userMetadata", stamp.metadata())
        writer = writer.option("txnAppId", target.transaction_app).option("txnVersion", stamp.batch_id)
        writer.save(str(target.path))
        assert isinstance(target.path, Path)
        return rows_of_transaction(target.path, target.transaction_app, stamp.batch_id, before)
