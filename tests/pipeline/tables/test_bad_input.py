"""Input that is large, malformed or late, and disks that are full: nothing is lost, nothing comes twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import PipelineEvent, Step
from signalbox.pipeline.options import TablesOptions
from signalbox.pipeline.sinks.delta_log import read_table
from signalbox.pipeline.stream import PipelineError
from signalbox.pipeline.tables.run import TablesResult, run_tables
from tests.pipeline.topics import Topics, json_values
from tests.small_disk import small_disk

Listener = Callable[[PipelineEvent], None]
TEN_MB = 10 * 1024 * 1024
LARGE = {"max.message.bytes": str(2 * TEN_MB)}


def run(
    engine: Engine, warehouse: Path, topics: Topics, topic: str, schema: str, listener: Listener | None = None
) -> TablesResult:
    options = TablesOptions(bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic=topic, schema=schema)
    return run_tables(options, engine=engine, listener=listener, say=lambda _: None)


def rejected(result: TablesResult) -> dict[int, tuple[str, bytes]]:
    assert result.dead_table is not None
    return {row["offset"]: (row["reason"], row["value"]) for row in read_table(result.dead_table).to_pylist()}


@pytest.mark.spec("P3", "P10")
@pytest.mark.parametrize("full_at", [Step.BATCH_STARTED, Step.TABLE_COMMITTED])
def test_a_full_disk_ends_the_run_and_no_record_is_lost_or_comes_twice(
    engine: Engine, tmp_path: Path, topics: Topics, full_at: Step
) -> None:
    topic = topics.create("full", partitions=1)
    with small_disk(tmp_path, 8 << 20) as disk:
        lake = disk.path / "lake"
        topics.fill(topic, json_values(0, 10))
        run(engine, lake, topics, topic, "n INT")
        topics.fill(topic, json_values(10, 20))

        def fill_disk(event: PipelineEvent) -> None:
            if event.step == full_at:
                disk.fill()

        with pytest.raises(PipelineError, match="No space left on device"):
            run(engine, lake, topics, topic, "n INT", fill_disk)
        disk.make_room()
        result = run(engine, lake, topics, topic, "n INT")
        assert sorted(read_table(result.table, ["n"]).column("n").to_pylist()) == list(range(20))
        assert result.repeated_batches == (full_at == Step.TABLE_COMMITTED)


@pytest.mark.spec("P3", "P4")
def test_records_of_ten_megabytes(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("large", partitions=1, **LARGE)
    values = [json.dumps({"n": number, "text": "x" * TEN_MB}).encode() for number in range(3)]
    topics.fill(topic, values, **{"message.max.bytes": 2 * TEN_MB})
    result = run(engine, warehouse, topics, topic, "n INT, text STRING")
    rows = read_table(result.table).to_pylist()
    assert sorted((row["n"], len(row["text"])) for row in rows) == [(number, TEN_MB) for number in range(3)]


@pytest.mark.spec("P6")
def test_bytes_that_are_not_utf_8_are_rejected_as_they_are(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("bytes", partitions=1)
    values = [b'{"n":1,"text":"\xff"}', b'{"n":2,"text":"\xc3\xa9"}', b"\xff\xfe{", b'{"n":4,"text":"\xed\xa0\x80"}']
    topics.fill(topic, values)
    result = run(engine, warehouse, topics, topic, "n INT, text STRING")
    assert [(row["n"], row["text"]) for row in read_table(result.table).to_pylist()] == [(2, "é")]
    assert rejected(result) == {offset: ("not_utf8", values[offset]) for offset in (0, 2, 3)}


@pytest.mark.spec("P3", "P6")
def test_an_object_with_100_000_members(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("wide", partitions=1, **LARGE)
    wide = {f"field_{number}": number for number in range(100_000)}
    topics.fill(topic, [json.dumps({**wide, "n": 1}).encode(), b'{"n":2}'], **{"message.max.bytes": TEN_MB})
    result = run(engine, warehouse, topics, topic, "n INT")
    assert sorted(read_table(result.table, ["n"]).column("n").to_pylist()) == [1, 2]


@pytest.mark.spec("P3")
def test_the_clock_of_a_producer_does_not_matter(engine: Engine, warehouse: Path, topics: Topics) -> None:
    """Times of records that go back, to 1970 and to the year 9999."""
    topic = topics.create("clock", partitions=1, **{"message.timestamp.after.max.ms": str(2**62)})
    times_ms = [1_790_000_000_000, 1, 253_402_300_799_000, 1_790_000_000_001]
    for number, time_ms in enumerate(times_ms):
        topics.fill_at(topic, b'{"n":%d}' % number, time_ms)
        run(engine, warehouse, topics, topic, "n INT")
    result = run(engine, warehouse, topics, topic, "n INT")
    rows = sorted(read_table(result.table).to_pylist(), key=lambda row: row["n"])
    assert [round(row["timestamp"].timestamp() * 1000) for row in rows] == times_ms
