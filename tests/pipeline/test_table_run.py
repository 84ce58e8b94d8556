"""The steps of a batch, in the order in which exactly-once needs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import PipelineEvent, Step
from signalbox.pipeline.options import TablesOptions
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
