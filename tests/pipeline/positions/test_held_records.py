"""A batch that is repeated after a crash has each record once, in one of its tables, whatever changed meanwhile."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import PipelineEvent, Step
from signalbox.pipeline.formats.format_options import FormatOptions
from signalbox.pipeline.options import TablesOptions
from signalbox.pipeline.positions.backfill import run_backfill
from signalbox.pipeline.positions.held_records import held_positions
from signalbox.pipeline.rejected.replay import replay_rejected
from signalbox.pipeline.sinks.delta_log import read_table
from signalbox.pipeline.tables.run import run_tables
from tests.pipeline.topics import Topics

VALUES = [b'{"n":1}', b'{"n":10}', b"bad"]


class KilledError(Exception):
    """Ends a run at a step, as a kill would."""


@dataclass
class Table:
    """A table of JSON Schema values, and its schema file: numbers up to a maximum."""

    options: TablesOptions
    engine: Engine
    file: Path

    def run(self, maximum: int, kill_at: str = "") -> None:
        """A run with this maximum; killed at a step, "read", "dead" or "good"."""
        number = {"type": "integer", "maximum": maximum}
        self.file.write_text(json.dumps({"type": "object", "properties": {"n": number}}))

        def kill(event: PipelineEvent) -> None:
            committed = "dead" if event.table.endswith("_dead") else "good"
            where = {Step.BATCH_READ: "read", Step.TABLE_COMMITTED: committed}.get(event.step)
            if where == kill_at and not event.skipped:
                raise KilledError

        if kill_at:
            with pytest.raises((KilledError, RuntimeError)):
                run_tables(self.options, engine=self.engine, listener=kill, say=lambda _: None)
        else:
            run_tables(self.options, engine=self.engine, say=lambda _: None)

    def replay(self) -> None:
        """Replays the rejected records."""
        replay_rejected(self.options, engine=self.engine, say=lambda _: None)

    def offsets(self) -> tuple[list[int], list[int]]:
        """The offsets in the table and in that of the rejected records."""
        path = self.options.warehouse / self.options.topic
        table, dead = (read_table(each).column("offset").to_pylist() for each in (path, Path(f"{path}_dead")))
        return sorted(table), sorted(dead)


def begun(engine: Engine, warehouse: Path, topics: Topics, values: list[bytes], **more: Any) -> Table:
    topic = topics.create("held", partitions=1)
    topics.fill(topic, values)
    warehouse.mkdir(exist_ok=True)
    file = warehouse / f"{topic}.json"
    options = TablesOptions(
        bootstrap_servers=topics.bootstrap,
        warehouse=warehouse,
        topic=topic,
        formats=FormatOptions(value_format="json-schema", value_schema=file),
        **more,
    )
    return Table(options, engine, file)


@pytest.mark.spec("P3", "P6")
@pytest.mark.parametrize(
    ("kill_at", "maximum", "then", "expected"),
    [
        ("read", 5, 100, ([0, 1], [2])),
        ("dead", 5, 100, ([0], [1, 2])),
        ("dead", 100, 5, ([0], [1, 2])),
        ("good", 100, 5, ([0, 1], [2])),
    ],
)
def test_a_record_is_in_one_table_whatever_the_schema_is_after_a_crash(
    engine: Engine,
    warehouse: Path,
    topics: Topics,
    kill_at: str,
    maximum: int,
    then: int,
    expected: tuple[list[int], list[int]],
) -> None:
    table = begun(engine, warehouse, topics, VALUES)
    table.run(maximum, kill_at)
    table.run(then)
    assert table.offsets() == expected


@pytest.mark.spec("P3", "P6")
def test_good_rows_without_rejected_ones_are_not_rejected_later(
    engine: Engine, warehouse: Path, topics: Topics
) -> None:
    table = begun(engine, warehouse, topics, VALUES[:2])
    table.run(100, "good")
    table.run(5)
    assert table.offsets() == ([0, 1], [])


@pytest.mark.spec("P3", "P6")
def test_a_repeat_of_a_bounded_run_that_dies_too_is_repeated_with_what_it_has_rejected(
    engine: Engine, warehouse: Path, topics: Topics
) -> None:
    table = begun(engine, warehouse, topics, [*VALUES, b'{"n":20}'], ending="latest")
    table.run(100, "dead")
    table.run(15, "dead")
    table.run(5, "dead")
    assert table.offsets() == ([], [1, 2, 3])
    table.run(100)
    assert table.offsets() == ([0], [1, 2, 3])


@pytest.mark.spec("P3", "P6")
def test_a_replay_between_the_crash_and_the_repeat_adds_no_record_twice(
    engine: Engine, warehouse: Path, topics: Topics
) -> None:
    table = begun(engine, warehouse, topics, VALUES)
    table.run(5, "dead")
    table.file.write_text(json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}}))
    table.replay()
    assert table.offsets() == ([1], [2])
    table.run(100)
    assert table.offsets() == ([0, 1], [2])


@pytest.mark.spec("P3", "P7")
def test_a_backfill_that_died_is_completed_without_repeats(engine: Engine, warehouse: Path, topics: Topics) -> None:
    table = begun(engine, warehouse, topics, VALUES)
    table.options = replace(table.options, starting=f"{table.options.topic}:0:3")
    table.run(5)

    def kill(event: PipelineEvent) -> None:
        if event.step == Step.TABLE_COMMITTED:
            raise KilledError

    earlier = replace(table.options, starting="earliest")
    with pytest.raises(KilledError):
        run_backfill(earlier, engine=engine, listener=kill, say=lambda _: None)
    assert table.offsets() == ([], [1, 2])
    table.run(100)
    run_backfill(earlier, engine=engine, say=lambda _: None)
    assert table.offsets() == ([0], [1, 2])


def test_positions_are_of_the_batch_alone(tmp_path: Path) -> None:
    rows = {"partition": [0, 0, 0, 1, 2], "offset": [4, 5, 9, 5, 0], "n": [1, 2, 3, 4, 5]}
    types = pa.schema([("partition", pa.int32()), ("offset", pa.int64()), ("n", pa.int32())])
    write_deltalake(str(tmp_path / "t"), pa.table(rows, schema=types))
    held = held_positions(tmp_path / "t", {"a:b:0": 5}, {"a:b:0": 9, "a:b:2": 1})
    assert sorted(zip(*held.to_pydict().values())) == [(0, 5), (2, 0)]
