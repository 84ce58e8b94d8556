"""Earlier records come into a table that exists, none twice, also after a run that died."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import PipelineEvent, Step
from signalbox.pipeline.options import TablesOptions
from signalbox.pipeline.positions.backfill import run_backfill
from signalbox.pipeline.sinks.delta_log import read_table
from signalbox.pipeline.table_state import StateError
from signalbox.pipeline.tables.run import run_tables
from tests.pipeline.topics import Topics, json_values


class DiedError(Exception):
    """Ends a run between the commit of a table and that of the batch."""


def options(topics: Topics, warehouse: Path, topic: str, **more: Any) -> TablesOptions:
    return TablesOptions(
        bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic=topic, max_records_per_batch=6, **more
    )


def quiet(_: str) -> None:
    """Discards the progress lines."""


def test_without_a_table_there_is_nothing_to_add_to(tmp_path: Path) -> None:
    asked = TablesOptions(bootstrap_servers="b:1", warehouse=tmp_path, topic="t")
    with pytest.raises(StateError, match="there is no table t"):
        run_backfill(asked)


@pytest.mark.spec("P7")
def test_earlier_records_are_added_once(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("backfill", partitions=1)
    topics.fill(topic, [*json_values(0, 20), b"bad"])

    def table(**more: Any) -> Any:
        return run_tables(options(topics, warehouse, topic, **more), engine=engine, say=quiet)

    def added(listener: Any = None, **more: Any) -> int:
        return run_backfill(options(topics, warehouse, topic, **more), engine=engine, listener=listener, say=quiet).rows

    assert table(schema="n INT, text STRING", starting=f"{topic}:0:15").table_rows == 5
    assert added(starting=f"{topic}:0:4", ending=f"{topic}:0:6") == 2

    def die(event: PipelineEvent) -> None:
        if event.step == Step.TABLE_COMMITTED:
            raise DiedError

    with pytest.raises(DiedError):
        added(die)
    batches = warehouse / ".signalbox" / topic / "backfill-2" / "offsets"
    batches.rename(batches.with_name("elsewhere"))
    with pytest.raises(StateError, match=r"holds batches up to 0 but their checkpoint .*/backfill-2 is gone"):
        added()
    batches.with_name("elsewhere").rename(batches)
    added()
    assert added() == 0
    topics.fill(topic, json_values(20, 25))
    assert table(starting="earliest").table_rows == 25
    rows = read_table(warehouse / topic, ["offset", "n"]).to_pylist()
    assert sorted(row["offset"] for row in rows) == [*range(20), *range(21, 26)]
    assert sorted(row["n"] for row in rows) == list(range(25))
