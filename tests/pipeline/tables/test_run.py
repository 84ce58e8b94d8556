"""A topic becomes a table: both profiles, the same rows."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from signalbox.pipeline.checkpoint_files import CheckpointError
from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import PipelineEvent, Step
from signalbox.pipeline.options import TablesOptions
from signalbox.pipeline.sinks.delta_log import partition_columns, read_table
from signalbox.pipeline.table_state import StateError
from signalbox.pipeline.tables.declared_columns import SchemaError
from signalbox.pipeline.tables.run import TablesResult, run_tables
from signalbox.pipeline.topic_client import TopicError
from tests.pipeline.topics import Topics, json_values


def run(engine: Engine, warehouse: Path, topics: Topics, topic: str, **asked: Any) -> TablesResult:
    options = TablesOptions(
        bootstrap_servers=topics.bootstrap,
        warehouse=warehouse,
        topic=topic,
        **{"profile": engine.profile, "max_records_per_batch": 100, **asked},
    )
    return run_tables(options, engine=engine, listener=asked.get("listener"), say=lambda _: None)


def numbers(result: TablesResult) -> list[int]:
    column: list[int] = read_table(result.table, ["n"]).column("n").to_pylist()
    return sorted(column)


@pytest.mark.spec("P3")
def test_a_topic_becomes_a_table_and_the_next_run_goes_on(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("rows")
    topics.fill(topic, json_values(0, 250))
    first = run(engine, warehouse, topics, topic, schema="n BIGINT NOT NULL, text STRING")
    assert numbers(first) == list(range(250))
    assert (first.rows, first.dead_rows, first.repeated_batches) == (250, 0, 0)
    assert first.batches >= 3
    topics.add_partitions(topic, 3)
    topics.fill(topic, json_values(250, 300))
    second = run(engine, warehouse, topics, topic)
    assert numbers(second) == list(range(300))
    assert (second.rows, second.table_rows, second.schema) == (50, 300, "n BIGINT NOT NULL, text STRING")
    third = run(engine, warehouse, topics, topic)
    assert (third.rows, third.table_rows) == (0, 300)


@pytest.mark.spec("P4")
def test_the_raw_table_is_the_record_byte_for_byte(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("raw", partitions=1)
    topics.fill_records(topic, [(b"\x00k", b"\xff", [("h", b"\x01"), ("n", None)]), (None, None, None)])
    result = run(engine, warehouse, topics, topic)
    rows = read_table(result.table).to_pylist()
    assert result.dead_table is None
    assert [(row["key"], row["value"], row["topic"], row["partition"], row["offset"]) for row in rows] == [
        (b"\x00k", b"\xff", topic, 0, 0),
        (None, None, topic, 0, 1),
    ]
    assert rows[0]["headers"] == [{"key": "h", "value": b"\x01"}, {"key": "n", "value": None}]
    assert rows[1]["headers"] is None


@pytest.mark.spec("P6")
def test_bad_records_are_kept_aside_with_reason_and_offset(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("bad", partitions=1)
    topics.fill(topic, [b'{"n":1}', b"nonsense", b'{"n":"x"}', b'{"n":4}'])
    result = run(engine, warehouse, topics, topic, schema="n INT")
    assert (result.rows, result.dead_rows, numbers(result)) == (2, 2, [1, 4])
    assert result.dead_table is not None
    dead = {row["offset"]: (row["reason"], row["value"]) for row in read_table(result.dead_table).to_pylist()}
    assert dead == {1: ("not_json", b"nonsense"), 2: ("type:n", b'{"n":"x"}')}


@pytest.mark.spec("P4")
def test_an_inferred_schema_is_remembered(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("inferred")
    topics.fill(topic, json_values(0, 10))
    assert run(engine, warehouse, topics, topic, schema="infer").schema == "`n` BIGINT, `text` STRING"
    topics.fill(topic, [b'{"n": 10, "late": true}', b'{"n": "ten"}'])
    again = run(engine, warehouse, topics, topic, schema="infer")
    assert (again.schema, again.dead_rows) == ("`n` BIGINT, `text` STRING", 1)
    assert numbers(again) == list(range(11))


@pytest.mark.spec("P3")
def test_a_recreated_topic_ends_the_run_instead_of_mixing_both(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("recreated", partitions=1)
    topics.fill(topic, json_values(0, 20))
    run(engine, warehouse, topics, topic)
    topics.delete(topic)
    topics.create_named(topic, partitions=1)
    topics.fill(topic, json_values(0, 5))
    with pytest.raises(StateError, match="deleted and created again"):
        run(engine, warehouse, topics, topic)


@pytest.mark.spec("P6", "P8")
def test_a_table_with_the_newest_row_of_each_key(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("upsert", partitions=2)
    topics.fill_records(topic, [(b"k%d" % (n % 10), b'{"n":%d}' % n, None) for n in range(30)])
    topics.fill_records(topic, [(b"k3", None, None), (None, b'{"n":99}', None)])
    first = run(engine, warehouse, topics, topic, schema="n INT", upsert=True)
    assert (numbers(first), first.dead_rows) == ([20, 21, 22, 24, 25, 26, 27, 28, 29], 1)
    assert first.dead_table is not None
    assert [row["reason"] for row in read_table(first.dead_table).to_pylist()] == ["no_key"]
    topics.fill_records(topic, [(b"k3", b'{"n":3}', None), (b"k4", None, None), (b"k5", b'{"n":55}', None)])
    second = run(engine, warehouse, topics, topic)
    assert numbers(second) == [3, 20, 21, 22, 26, 27, 28, 29, 55]


@pytest.mark.spec("P9")
def test_a_continuous_run_reads_new_records_until_it_is_stopped(
    engine: Engine, warehouse: Path, topics: Topics
) -> None:
    topic = topics.create("endless")
    topics.fill(topic, json_values(0, 10))
    filled: list[int] = []
    stop = threading.Event()

    def fill_more(event: PipelineEvent) -> None:
        if event.step == Step.BATCH_DONE and not filled:
            filled.append(event.batch_id)
            topics.fill(topic, json_values(10, 20))
        elif event.step == Step.BATCH_DONE and event.consumed_records >= 20:
            stop.set()

    options = TablesOptions(
        bootstrap_servers=topics.bootstrap,
        warehouse=warehouse,
        topic=topic,
        schema="n INT",
        profile=engine.profile,
        trigger_seconds=0.2,
    )
    result = run_tables(options, engine=replace(engine, stop=stop), listener=fill_more, say=lambda _: None)
    assert numbers(result) == list(range(20))
    begun = time.monotonic()
    result = run_tables(replace(options, stop_after_seconds=1.5), engine=engine, say=lambda _: None)
    assert time.monotonic() - begun >= 1.5
    assert numbers(result) == list(range(20))


@pytest.mark.spec("P3")
def test_a_lost_checkpoint_is_not_begun_again_over_the_same_table(
    engine: Engine, warehouse: Path, topics: Topics
) -> None:
    topic = topics.create("lost")
    topics.fill(topic, json_values(0, 10))
    run(engine, warehouse, topics, topic)
    checkpoint = warehouse / ".signalbox" / topic / "checkpoint"
    checkpoint.rename(checkpoint.with_name("elsewhere"))
    with pytest.raises(StateError, match="is gone"):
        run(engine, warehouse, topics, topic)
    checkpoint.with_name("elsewhere").rename(checkpoint)
    assert run(engine, warehouse, topics, topic).table_rows == 10


def test_what_cannot_be_run_is_rejected_and_leaves_nothing_behind(
    engine: Engine, warehouse: Path, topics: Topics
) -> None:
    with pytest.raises(TopicError, match="nowhere"):
        run(engine, warehouse, topics, "nowhere")
    topic = topics.create("rejected")
    topics.fill(topic, [b"no json"])
    with pytest.raises(SchemaError, match="none of its first 1 values is a JSON object"):
        run(engine, warehouse, topics, topic, schema="infer")
    with pytest.raises(SchemaError, match="cannot be read"):
        run(engine, warehouse, topics, topic, schema="n WHAT")
    assert not (warehouse / topic).exists()
    assert run(engine, warehouse, topics, topic).rows == 1


@pytest.mark.spec("P8")
@pytest.mark.parametrize("upsert", [False, True])
def test_a_partitioned_table_goes_on_with_its_partitions(
    engine: Engine, warehouse: Path, topics: Topics, upsert: bool
) -> None:
    topic = topics.create("partitioned", partitions=1)
    schema = "carrier STRING, n INT"
    topics.fill_records(topic, [(b"k%d" % n, b'{"carrier":"%d %%","n":%d}' % (n % 2, n), None) for n in range(10)])
    with pytest.raises(SchemaError, match="partition by line: the table has no such column"):
        run(engine, warehouse, topics, topic, schema=schema, partition_by=("line",))
    assert not (warehouse / topic).exists()
    run(engine, warehouse, topics, topic, schema=schema, upsert=upsert, partition_by=("carrier",))
    topics.fill_records(topic, [(b"k3", b'{"carrier":"0 %","n":30}', None)])
    result = run(engine, warehouse, topics, topic)
    rows = {(row["carrier"], row["n"]) for row in read_table(result.table).to_pylist()}
    expected = {(f"{n % 2} %", n) for n in range(10)} | {("0 %", 30)}
    assert rows == (expected - {("1 %", 3)} if upsert else expected)
    assert partition_columns(result.table) == ("carrier",)
    with pytest.raises(StateError, match="is partitioned by carrier, not by n"):
        run(engine, warehouse, topics, topic, partition_by=("n",))


@pytest.mark.spec("P3", "P10")
def test_a_corrupt_table_or_checkpoint_ends_the_run_before_it_begins(
    engine: Engine, warehouse: Path, topics: Topics
) -> None:
    topic = topics.create("corrupt", partitions=1)
    topics.fill(topic, json_values(0, 10))
    run(engine, warehouse, topics, topic)
    topics.fill(topic, json_values(10, 20))
    newest = max((warehouse / topic / "_delta_log").glob("*.json"))
    offsets = warehouse / ".signalbox" / topic / "checkpoint" / "offsets" / "0"
    for file, error in ((newest, StateError), (offsets, CheckpointError)):
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
        with pytest.raises(error, match=r"cannot be read: .*Restore"):
            run(engine, warehouse, topics, topic)
        file.write_bytes(content)
    assert run(engine, warehouse, topics, topic).table_rows == 20
