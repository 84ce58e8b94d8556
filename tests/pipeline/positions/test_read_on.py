"""Topics that lose records or are replaced while a table follows them: one error in both profiles, and the way on."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import PipelineEvent, Step
from signalbox.pipeline.options import TablesOptions
from signalbox.pipeline.positions.backfill import run_backfill
from signalbox.pipeline.positions.lost_records import read_gaps
from signalbox.pipeline.sinks.delta_log import read_table
from signalbox.pipeline.stream import PipelineError
from signalbox.pipeline.table_state import StateFolder
from signalbox.pipeline.tables.run import TablesResult, run_tables
from signalbox.pipeline.topic_client import TopicClient
from tests.pipeline.topics import Topics, json_values


class KilledError(Exception):
    """Ends a run at a step, as a kill would."""


def options(topics: Topics, warehouse: Path, topic: str, **more: Any) -> TablesOptions:
    asked = {"bootstrap_servers": topics.bootstrap, "warehouse": warehouse, "topic": topic, "schema": "n INT"}
    return TablesOptions(**{**asked, **more})


def numbers(warehouse: Path, topic: str) -> list[int]:
    column: list[int] = read_table(warehouse / topic, ["n"]).column("n").to_pylist()
    return sorted(column)


def gaps(warehouse: Path, topic: str) -> list[dict[str, tuple[int, int]]]:
    return [gap.ranges for gap in read_gaps(StateFolder(warehouse, topic).path)]


@pytest.mark.spec("P3", "P7")
@pytest.mark.parametrize("ending", [None, "latest"], ids=["stream", "bounded"])
def test_retention_that_overtakes_a_table_is_an_error_and_then_a_gap(
    engine: Engine, warehouse: Path, topics: Topics, ending: str | None
) -> None:
    topic = topics.create("overtaken", partitions=1)
    lines: list[str] = []

    def run(**more: Any) -> TablesResult:
        return run_tables(options(topics, warehouse, topic, ending=ending, **more), engine=engine, say=lines.append)

    topics.fill(topic, json_values(0, 10))
    run()
    topics.fill(topic, json_values(10, 20))
    topics.delete_records(topic, 15)
    message = rf"^records of topic {topic} were deleted before they were read: partition 0, offsets 10 to 14\. "
    with pytest.raises(PipelineError, match=message):
        run()
    assert (numbers(warehouse, topic), gaps(warehouse, topic)) == (list(range(10)), [])
    assert run(fail_on_data_loss=False).rows == 5
    assert any("GAP: records were deleted" in line and "offsets 10 to 14" in line for line in lines)
    topics.fill(topic, json_values(20, 22))
    assert run().rows == 2
    assert numbers(warehouse, topic) == [*range(10), *range(15, 22)]
    assert gaps(warehouse, topic) == [{f"{topic}:0": (10, 15)}]


@pytest.mark.spec("P3")
def test_a_planned_batch_that_lost_its_first_records_is_completed_with_the_others(
    engine: Engine, warehouse: Path, topics: Topics
) -> None:
    topic = topics.create("half-lost", partitions=1)
    topics.fill(topic, [*json_values(0, 10), b"bad"])

    def kill(event: PipelineEvent) -> None:
        if event.step == Step.BATCH_READ:
            raise KilledError

    asked = options(topics, warehouse, topic, max_records_per_batch=8, fail_on_data_loss=False)
    with pytest.raises((PipelineError, KilledError)):
        run_tables(asked, engine=engine, listener=kill, say=lambda _: None)
    topics.delete_records(topic, 6)
    assert run_tables(asked, engine=engine, say=lambda _: None).dead_rows == 1
    assert (numbers(warehouse, topic), gaps(warehouse, topic)) == ([6, 7, 8, 9], [{f"{topic}:0": (0, 6)}])


@pytest.mark.spec("P3")
def test_a_batch_that_the_table_holds_needs_no_records_any_more(
    engine: Engine, warehouse: Path, topics: Topics
) -> None:
    topic = topics.create("held-lost", partitions=1)
    topics.fill(topic, json_values(0, 10))

    def kill(event: PipelineEvent) -> None:
        if event.step == Step.TABLE_COMMITTED:
            raise KilledError

    asked = options(topics, warehouse, topic)
    with pytest.raises((PipelineError, KilledError)):
        run_tables(asked, engine=engine, listener=kill, say=lambda _: None)
    topics.delete_records(topic, 10)
    topics.fill(topic, json_values(10, 12))
    run_tables(asked, engine=engine, say=lambda _: None)
    assert numbers(warehouse, topic) == list(range(12))


@pytest.mark.spec("P3")
def test_a_continuous_run_that_is_overtaken_goes_on_behind_the_gap(
    engine: Engine, warehouse: Path, topics: Topics
) -> None:
    topic = topics.create("passed", partitions=1)
    topics.fill(topic, json_values(0, 10))
    stop = threading.Event()

    def overtake(event: PipelineEvent) -> None:
        if event.step == Step.BATCH_DONE and event.consumed_records == 10:
            topics.fill(topic, json_values(10, 20))
            topics.delete_records(topic, 15)
        elif event.step == Step.BATCH_DONE and event.consumed_records >= 20:
            stop.set()

    asked = options(topics, warehouse, topic, trigger_seconds=0.2, fail_on_data_loss=False)
    run_tables(asked, engine=replace(engine, stop=stop), listener=overtake, say=lambda _: None)
    assert numbers(warehouse, topic) == [*range(10), *range(15, 20)]
    assert gaps(warehouse, topic) == [{f"{topic}:0": (10, 15)}]


@pytest.mark.spec("P7")
def test_a_backfill_that_is_overtaken_ends_with_a_sentence_and_can_be_completed(
    engine: Engine, warehouse: Path, topics: Topics
) -> None:
    topic = topics.create("late-backfill", partitions=1)
    topics.fill(topic, json_values(0, 20))
    asked = options(topics, warehouse, topic, max_records_per_batch=4)
    run_tables(replace(asked, starting=f"{topic}:0:15"), engine=engine, say=lambda _: None)

    def overtake(event: PipelineEvent) -> None:
        if event.step == Step.BATCH_DONE and event.batch_id == 0:
            topics.delete_records(topic, 9)

    with pytest.raises(PipelineError, match=rf"topic {topic} were deleted .*: partition 0, offsets 4 to 8\."):
        run_backfill(asked, engine=engine, listener=overtake, say=lambda _: None)
    result = run_backfill(replace(asked, fail_on_data_loss=False), engine=engine, say=lambda _: None)
    assert (result.complete, result.rows) == (True, 6)
    assert numbers(warehouse, topic) == [*range(4), *range(9, 20)]
    # A batch was planned when the run failed, and lost all its records; the next one begins behind the rest of the gap.
    assert gaps(warehouse, topic) == [{f"{topic}:0": (4, 8)}, {f"{topic}:0": (8, 9)}]


@pytest.mark.spec("P3")
@pytest.mark.parametrize("schema", ["n INT", None])
@pytest.mark.parametrize("records", [5, 30])
def test_a_topic_that_is_replaced_during_a_run_ends_it_before_the_commit(
    engine: Engine, warehouse: Path, topics: Topics, schema: str | None, records: int
) -> None:
    topic = topics.create("replaced", partitions=1)
    topics.fill(topic, json_values(0, 10))
    ids = TopicClient(topics.bootstrap, {}, "test")
    first = ids.topic_id(topic)
    replaced: list[str] = []

    def replace_topic(event: PipelineEvent) -> None:
        if event.step == Step.BATCH_DONE and not replaced:
            topics.delete(topic)
            topics.create_named(topic, 1)
            topics.fill(topic, json_values(100, 100 + records))
            replaced.append(ids.topic_id(topic))

    asked = options(topics, warehouse, topic, schema=schema, trigger_seconds=0.2, stop_after_seconds=60)
    with pytest.raises(PipelineError, match=f"^topic {topic} was deleted and created again") as failure:
        run_tables(asked, engine=engine, listener=replace_topic, say=lambda _: None)
    assert f"its id was {first}, is {replaced[0]}" in str(failure.value)
    offsets = read_table(warehouse / topic, ["offset"]).column("offset").to_pylist()
    assert sorted(offsets) == list(range(10))
