"""The reference for the overhead of `signalbox pipeline tables`: the shortest Structured Streaming job of its kind.

Spark's connector, `from_json`, and Delta's writer with the batch's transaction, in the same session settings, into a
table with the same columns: no rejected records, no lineage, no check of schemas, no progress.
"""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from bench.pipeline.records import SCHEMA
from signalbox.pipeline.options import DEFAULT_MAX_RECORDS_PER_BATCH, RunOptions
from signalbox.pipeline.source_jars import RECORD_COLUMNS
from signalbox.pipeline.spark.jars import fetch_jars
from signalbox.pipeline.spark.session import SessionSettings, build_session, end_session
from signalbox.pipeline.table_state import scratch_directory

_CONNECTOR = {
    "startingOffsets": "earliest",
    "maxOffsetsPerTrigger": str(DEFAULT_MAX_RECORDS_PER_BATCH),
    "kafka.max.poll.records": "10000",
    "kafka.max.partition.fetch.bytes": "8388608",
    "kafka.fetch.max.bytes": "67108864",
    "includeHeaders": "true",
}


def run(options: RunOptions, topic: str) -> tuple[float, int]:
    """Seconds of the query, and the rows of the table."""
    folder: Path = options.state_folder  # the warehouse
    settings = SessionSettings(
        master=options.master,
        memory=options.memory,
        jars=tuple(fetch_jars(options.jars_directory, lambda _: None)),
        scratch_directory=scratch_directory(folder),
    )
    spark = build_session(settings)
    table = str(folder / "bare")

    def write(batch: DataFrame, batch_id: int) -> None:
        writer = batch.write.format("delta").mode("append")
        writer.option("txnAppId", "bare").option("txnVersion", batch_id).save(table)

    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", options.bootstrap_servers)
    rows = (
        source.options(**_CONNECTOR)
        .option("subscribe", topic)
        .load()
        .select(*RECORD_COLUMNS, F.from_json(F.col("value").cast("string"), SCHEMA).alias("row"))
        .select(*RECORD_COLUMNS, "row.*")
    )
    began = time.monotonic()
    writer = rows.writeStream.foreachBatch(write).option("checkpointLocation", str((folder / "checkpoint").absolute()))
    writer.trigger(availableNow=True).start().awaitTermination()
    seconds = time.monotonic() - began
    count = spark.read.format("delta").load(table).count()
    end_session(spark)
    return seconds, count
