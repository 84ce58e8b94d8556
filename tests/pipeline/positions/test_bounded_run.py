"""Batches up to an end: planned before they run, repeated if they were not committed; before and behind a stream."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.pipeline.checkpoint_files import batch_end, committed_batches, planned_batches
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.offsets import OffsetMap
from signalbox.pipeline.options import TablesOptions
from signalbox.pipeline.positions.bounded_run import BoundedPlan, PlannedBatch
from signalbox.pipeline.sinks.delta_log import read_table
from signalbox.pipeline.table_state import StateError
from signalbox.pipeline.tables.run import run_tables
from tests.pipeline.synced_names import note_synced
from tests.pipeline.topics import Topics, json_values

END = OffsetMap({"t": "id"}, {TopicPartition("t", 0): 10})


def plan(checkpoint: Path, end: OffsetMap = END, max_records: int = 4) -> BoundedPlan:
    return BoundedPlan(checkpoint, {"t:0": 3}, end, max_records)


@pytest.mark.spec("P7")
def test_batches_go_from_the_beginning_to_the_end(tmp_path: Path) -> None:
    batches = plan(tmp_path)
    seen = []
    while (batch := batches.next_batch()) is not None:
        assert batch_end(tmp_path, batch.batch_id) == batch.end
        batches.commit(batch)
        seen.append((batch.batch_id, batch.start["t:0"], batch.end["t:0"]))
    assert seen == [(0, 3, 7), (1, 7, 10)]
    assert committed_batches(tmp_path) == planned_batches(tmp_path) == [0, 1]


@pytest.mark.spec("P7")
def test_a_batch_that_was_not_committed_is_repeated_as_it_was_planned(tmp_path: Path) -> None:
    first = plan(tmp_path).next_batch()
    assert first == PlannedBatch(0, {"t:0": 3}, {"t:0": 7})
    assert plan(tmp_path, max_records=1).next_batch() == first


@pytest.mark.spec("P7")
def test_the_files_of_a_batch_and_their_folder_are_flushed_to_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed = note_synced(monkeypatch)
    batch = plan(tmp_path).next_batch()
    assert flushed == [".metadata", tmp_path.name, ".0", "offsets"]
    assert batch is not None
    plan(tmp_path).commit(batch)
    assert flushed[4:] == [".0", "commits"]


def test_an_end_before_the_position_reads_nothing(tmp_path: Path) -> None:
    batches = plan(tmp_path, OffsetMap({"t": "id"}, {TopicPartition("t", 0): 2}))
    assert batches.next_batch() is None
    assert planned_batches(tmp_path) == []


def test_a_batch_can_be_planned_to_chosen_offsets(tmp_path: Path) -> None:
    batches = plan(tmp_path)
    assert batches.unfinished() is None
    chosen = batches.plan_to({"t:0": 8})
    assert chosen == batches.unfinished() == PlannedBatch(0, {"t:0": 3}, {"t:0": 8})
    batches.commit(chosen)
    assert batches.unfinished() is None
    assert batches.next_batch() == PlannedBatch(1, {"t:0": 8}, {"t:0": 10})


def test_a_new_partition_begins_at_0_and_the_line_of_spark_is_kept(tmp_path: Path) -> None:
    batches = plan(tmp_path)
    first = batches.next_batch()
    assert first is not None
    batches.commit(first)
    path = tmp_path / "offsets" / "0"
    path.write_text(path.read_text().replace('"conf": {}', '"conf": {"spark.sql.shuffle.partitions": "2"}'))
    grown = OffsetMap({"t": "id"}, {TopicPartition("t", 0): 7, TopicPartition("t", 1): 2})
    second = plan(tmp_path, grown).next_batch()
    assert second == PlannedBatch(1, {"t:0": 7}, {"t:0": 7, "t:1": 2})
    version, header, offsets = (tmp_path / "offsets" / "1").read_text().splitlines()
    assert (version, json.loads(offsets)) == ("v1", {"t": "id", "t:0": 7, "t:1": 2})
    assert json.loads(header)["conf"] == {"spark.sql.shuffle.partitions": "2"}


@pytest.mark.spec("P7")
def test_a_stream_goes_on_behind_a_bounded_run_and_the_reverse(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("bounded", partitions=1)
    topics.fill(topic, json_values(0, 30))

    def run(**more: Any) -> int:
        options = TablesOptions(
            bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic=topic, max_records_per_batch=4, **more
        )
        return run_tables(options, engine=engine, say=lambda _: None).table_rows

    assert run(starting=f"{topic}:0:5", ending=f"{topic}:0:12") == 7
    assert run(ending=f"{topic}:0:10") == 7
    assert run() == 25
    checkpoint = warehouse / ".signalbox" / topic / "checkpoint"
    shutil.copytree(checkpoint, checkpoint.with_name("older"))
    topics.fill(topic, json_values(30, 40))
    assert run(ending=f"{topic}:0:38") == 33
    assert run() == 35
    offsets = read_table(warehouse / topic, ["offset"]).column("offset").to_pylist()
    assert sorted(offsets) == list(range(5, 40))

    shutil.rmtree(checkpoint)
    checkpoint.with_name("older").rename(checkpoint)
    topics.fill(topic, json_values(40, 50))
    with pytest.raises(
        StateError, match=r"its checkpoint .* is older, it has batches up to \d+: the records of the next"
    ):
        run()
