"""Profile `jars`: the stream of a topic through Spark's own Kafka connector.

It reads like any consumer but joins no group; its progress is in the checkpoint. `failOnDataLoss` stays on: if
retention deletes records before they are read, the run fails instead of skipping them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from signalbox.pipeline.checkpoint_files import nested_offsets
from signalbox.pipeline.client.java_settings import java_settings
from signalbox.pipeline.options import RunOptions

RECORD_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "headers")

# The connector requests the log's end offsets twice per poll: large polls make that cheap.
_READER_SETTINGS = {
    "kafka.max.poll.records": "10000",
    "kafka.max.partition.fetch.bytes": "8388608",
    "kafka.fetch.max.bytes": "67108864",
    "kafka.receive.buffer.bytes": "1048576",
    "kafka.allow.auto.create.topics": "false",
    "kafka.isolation.level": "read_committed",
}


def connector_options(options: RunOptions, begin: Mapping[str, int], client_id: str) -> dict[str, str]:
    """The connector's options for a run; `begin` is where a stream without a checkpoint starts."""
    starting = nested_offsets(begin)
    return {
        **_READER_SETTINGS,
        "kafka.client.id": client_id,
        **java_settings(options.client_options),
        "kafka.bootstrap.servers": options.bootstrap_servers,
        "subscribe": ",".join(starting),
        "startingOffsets": json.dumps(starting),
        "maxOffsetsPerTrigger": str(options.max_records_per_batch),
        "includeHeaders": "true",
        "failOnDataLoss": "true",
        "groupIdPrefix": client_id,
    }


def read_range(
    spark: SparkSession, options: RunOptions, start: Mapping[str, int], end: Mapping[str, int], client_id: str
) -> DataFrame:
    """The records [start, end) of each partition, with RECORD_COLUMNS."""
    settings = connector_options(options, {where: start.get(where, 0) for where in end}, client_id)
    del settings["maxOffsetsPerTrigger"], settings["subscribe"]
    ending = nested_offsets(end)
    settings["assign"] = json.dumps({topic: [int(number) for number in numbers] for topic, numbers in ending.items()})
    settings["endingOffsets"] = json.dumps(ending)
    return spark.read.format("kafka").options(**settings).load().select(*RECORD_COLUMNS)


def read_stream(spark: SparkSession, options: RunOptions, begin: Mapping[str, int], client_id: str) -> DataFrame:
    """The topic of `begin` as an endless frame with RECORD_COLUMNS."""
    reader = spark.readStream.format("kafka").options(**connector_options(options, begin, client_id))
    return reader.load().select(*RECORD_COLUMNS)
