"""The steps of a batch, in the order in which exactly-once needs them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import PipelineEvent, Step
from signalbox.pipeline.options import TablesOptions
from signalbox.pipeline.table_run import SchemaError, fields_of
from signalbox.pipeline.tables.run import run_tables
from tests.pipeline.topics import Topics


@pytest.mark.spec("P6")
def test_dead_records_are_committed_before_the_good_rows(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("steps", partitions=1)
    topics.fill(topic, [b'{"n":1}', b"bad"])
    events: list[PipelineEvent] = []
    options = TablesOptions(bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic=topic, schema="n INT")
    run_tables(options, engine=engine, listener=events.append, say=lambda _: None)
    steps = [(event.step, event.table, event.rows) for event in events if event.step != Step.WAITING]
    assert steps == [
        (Step.BATCH_STARTED, "", -1),
        (Step.BATCH_READ, "", 1),
        (Step.TABLE_COMMITTED, f"{topic}_dead", 1),
        (Step.TABLE_COMMITTED, topic, 1),
        (Step.BATCH_DONE, "", 1),
    ]
    assert (events[-1].consumed_records, events[-1].known_records) == (2, 2)


def test_declared_fields_are_read_or_rejected(spark: SparkSession) -> None:
    fields = fields_of("a INT NOT NULL, b STRUCT<c: STRING>")
    assert fields is not None
    assert [(field.name, field.nullable) for field in fields.fields] == [("a", False), ("b", True)]
    assert fields_of(None) is None
    with pytest.raises(SchemaError, match=r"the schema \[a WHAT\] cannot be read"):
        fields_of("a WHAT")
    with pytest.raises(SchemaError, match="is no list of fields"):
        fields_of("INT")
