"""Late rows are rejected and repeated ones dropped, in both profiles as a model in plain Python does it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.object_store.location import TableLocation
from signalbox.pipeline.options import TablesOptions
from signalbox.pipeline.positions.backfill import run_backfill
from signalbox.pipeline.rejected.listing import RejectedRecords, count_reasons, shown
from signalbox.pipeline.rejected.replay import replay_rejected
from signalbox.pipeline.sinks.delta_log import read_table
from signalbox.pipeline.table_state import StateError
from signalbox.pipeline.tables.declared_columns import SchemaError
from signalbox.pipeline.tables.run import TablesResult, run_tables
from tests.pipeline.topics import Topics

SCHEMA = "id INT, kind STRING, happened TIMESTAMP"


def event(number: int | None, minute: float | None, kind: str = "a") -> bytes:
    happened = None if minute is None else datetime.fromtimestamp(minute * 60, UTC).isoformat()
    return json.dumps({"id": number, "kind": kind, "happened": happened}).encode()


def options(engine: Engine, warehouse: Path, topics: Topics, topic: str, **asked: Any) -> TablesOptions:
    return TablesOptions(
        bootstrap_servers=topics.bootstrap, warehouse=warehouse, topic=topic, profile=engine.profile, **asked
    )


def run(engine: Engine, warehouse: Path, topics: Topics, topic: str, **asked: Any) -> TablesResult:
    return run_tables(options(engine, warehouse, topics, topic, **asked), engine=engine, say=lambda _: None)


def column(table: TableLocation, name: str) -> list[Any]:
    rows: list[Any] = read_table(table, [name]).column(name).to_pylist()
    return sorted(rows, key=lambda value: (value is None, value))


def metadata(table: TableLocation) -> list[dict[str, Any]]:
    """The user metadata of the table's commits, the newest first."""
    return [
        json.loads(commit["userMetadata"]) for commit in DeltaTable(str(table)).history() if "userMetadata" in commit
    ]


@pytest.mark.spec("P8")
def test_late_rows_are_rejected_and_repeated_ones_dropped(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("event-times", partitions=1)
    topics.fill(topic, [event(1, 100), event(2, 60), event(1, 101), event(None, None), event(None, None), b"bad"])
    first = run(engine, warehouse, topics, topic, schema=SCHEMA, watermark="happened=10m", deduplicate=("id", "kind"))
    # No watermark yet: nothing is late. The third row repeats the first, the fifth the fourth.
    assert (first.rows, first.dead_rows, first.late_rows, first.duplicate_rows) == (3, 1, 0, 2)
    # The watermark is 91: 90.9 is late. id 1 repeats a row of the table, id 2 does not: its row (60) is too old.
    topics.fill(topic, [event(3, 90.9), event(3, 91), event(1, 95), event(2, 120), event(1, 95, "b"), event(4, None)])
    second = run(engine, warehouse, topics, topic)
    assert (second.rows, second.dead_rows, second.late_rows, second.duplicate_rows) == (4, 1, 1, 1)
    assert column(second.table, "id") == [1, 1, 2, 2, 3, 4, None]
    newest = metadata(second.table)[0]
    assert (newest["watermark_us"], newest["greatest_event_time_us"]) == (91 * 60_000_000, 120 * 60_000_000)

    rejected = RejectedRecords(warehouse, topic)
    assert [row["reason"] for row in shown(rejected, 10)] == [
        "not_json",
        "late:1970-01-01T01:30:54.000000Z_before_1970-01-01T01:31:00.000000Z",
    ]
    assert [(count.reason, count.records) for count in count_reasons(rejected)] == [("late", 1), ("not_json", 1)]

    # A replay admits the late row of another id, and drops the one that repeats a row of about its time.
    topics.fill(topic, [event(5, 90), event(3, 92)])
    third = run(engine, warehouse, topics, topic)
    assert (third.rows, third.late_rows, third.duplicate_rows) == (0, 2, 0)
    replayed = replay_rejected(options(engine, warehouse, topics, topic), engine=engine, say=lambda _: None)
    assert replayed.as_json() == {"replayed": 1, "rejected": 1, "completed": 0, "duplicates": 2}
    assert column(third.table, "id") == [1, 1, 2, 2, 3, 4, 5, None]


@pytest.mark.spec("P8")
def test_a_backfill_admits_old_rows_and_drops_repeated_ones(engine: Engine, warehouse: Path, topics: Topics) -> None:
    topic = topics.create("event-times-before", partitions=1)
    topics.fill(topic, [event(1, 1), event(2, 95), event(3, 500), event(1, 1), event(2, 99), event(4, 100)])
    run(
        engine,
        warehouse,
        topics,
        topic,
        schema=SCHEMA,
        watermark="happened=10m",
        deduplicate=("id",),
        starting=f"{topic}:0:4",
    )
    added = run_backfill(options(engine, warehouse, topics, topic), engine=engine, say=lambda _: None)
    assert (added.rows, added.dead_rows, added.duplicate_rows) == (2, 0, 2)
    topics.fill(topic, [event(5, 90), event(6, 89.9)])  # the row of 500 has not moved the watermark
    result = run(engine, warehouse, topics, topic)
    assert (result.rows, result.late_rows) == (1, 1)
    assert column(result.table, "id") == [1, 2, 3, 4, 5]


@pytest.mark.spec("P8")
def test_the_first_batch_is_compared_with_the_rows_of_a_backfill(
    engine: Engine, warehouse: Path, topics: Topics
) -> None:
    topic = topics.create("event-times-behind", partitions=1)
    topics.fill(topic, [event(1, 100), event(2, 101), event(3, 80)])
    rule = {"schema": SCHEMA, "watermark": "happened=10m", "deduplicate": ("id",), "starting": f"{topic}:0:3"}
    assert run(engine, warehouse, topics, topic, **rule).rows == 0
    assert run_backfill(options(engine, warehouse, topics, topic), engine=engine, say=lambda _: None).rows == 3
    # No watermark yet. The row of 80 is more than the delay before those of the batch.
    topics.fill(topic, [event(1, 105), event(4, 104), event(3, 106)])
    result = run(engine, warehouse, topics, topic)
    assert (result.rows, result.late_rows, result.duplicate_rows) == (2, 0, 1)
    assert column(result.table, "id") == [1, 2, 3, 3, 4]


@pytest.mark.spec("P8")
def test_raw_values_with_the_records_time_and_a_partitioned_table(
    engine: Engine, warehouse: Path, topics: Topics
) -> None:
    topic = topics.create("record-times", partitions=1)
    for value, minute in ((b"x", 100), (b"x", 101), (b"y", 100)):
        topics.fill_at(topic, value, minute * 60_000)
    result = run(engine, warehouse, topics, topic, watermark="timestamp=1m", deduplicate=("value",))
    assert (result.rows, result.duplicate_rows, column(result.table, "value")) == (2, 1, [b"x", b"y"])
    topics.fill_at(topic, b"z", 99 * 60_000)
    assert run(engine, warehouse, topics, topic).late_rows == 1
    replayed = replay_rejected(options(engine, warehouse, topics, topic), engine=engine, say=lambda _: None)
    assert (replayed.replayed, column(result.table, "value")) == (1, [b"x", b"y", b"z"])

    topic = topics.create("event-times-partitioned", partitions=1)
    rule = {"schema": SCHEMA, "watermark": "happened=1h", "deduplicate": ("kind", "id"), "partition_by": ("kind",)}
    topics.fill(topic, [event(1, 100, "0 %/ä"), event(1, 100, ""), event(2, 100, "b")])
    run(engine, warehouse, topics, topic, **rule)
    topics.fill(topic, [event(1, 101, "0 %/ä"), event(1, 102, ""), event(1, 103, "b"), event(2, 90, "b")])
    result = run(engine, warehouse, topics, topic, **rule)
    assert (result.rows, result.duplicate_rows, column(result.table, "id")) == (1, 3, [1, 1, 1, 2])


@pytest.mark.spec("P8")
def test_rules_that_do_not_fit_are_rejected_before_anything_is_written(
    engine: Engine, warehouse: Path, topics: Topics
) -> None:
    topic = topics.create("event-times-wrong", partitions=1)
    topics.fill(topic, [event(1, 1)])
    for asked, words in (
        ({"watermark": "then=1m"}, "watermark then: the table has no such column, but key, value"),
        (
            {"watermark": "id=1m"},
            r"watermark id: the column is int; choose a timestamp column \(the table has timestamp",
        ),
        ({"watermark": "happened=1m", "deduplicate": ("what",)}, "deduplicate what: the table has no such column"),
    ):
        with pytest.raises(SchemaError, match=words):
            run(engine, warehouse, topics, topic, schema=SCHEMA, **asked)
    assert not (warehouse / topic).exists()
    run(engine, warehouse, topics, topic, schema=SCHEMA, watermark="happened=60m", deduplicate=("id",))
    assert run(engine, warehouse, topics, topic, watermark="happened=1h").rows == 0
    with pytest.raises(StateError, match="begun with watermark happened=1h, deduplicate id, not watermark happened=2h"):
        run(engine, warehouse, topics, topic, watermark="happened=2h")
    (warehouse / ".signalbox" / topic / "watermark.json").unlink()
    with pytest.raises(StateError, match=r"watermark.json does not belong to the checkpoint: .*Restore"):
        run(engine, warehouse, topics, topic)
