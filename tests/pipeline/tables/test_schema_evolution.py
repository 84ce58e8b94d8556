"""Tables follow fields that are declared later: columns are added, widened or left null, and nothing else changes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import PipelineEvent, Step
from signalbox.pipeline.options import OptionError
from signalbox.pipeline.rejected.replay import replay_rejected
from signalbox.pipeline.table_state import StateFolder
from signalbox.pipeline.tables.declared_columns import SchemaError
from tests.pipeline.tables.decoded_tables import quiet, rows, run, tables_options
from tests.pipeline.topics import Topics

pytestmark = pytest.mark.spec("P5")
AT = datetime(2026, 11, 27, tzinfo=UTC)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("upsert", [False, True])
def test_declared_fields_of_json_change_the_table(
    engine: Engine, warehouse: Path, topics: Topics, upsert: bool
) -> None:
    topic = topics.create("evolved", partitions=1)
    lines: list[str] = []
    events: list[PipelineEvent] = []

    def write(*records: bytes, **asked: Any) -> Any:
        topics.fill_records(topic, [(value, value, None) for value in records])
        return run(engine, warehouse, topics, topic, listener=events.append, say=lines.append, **asked)

    write(b'{"n":1,"f":0.5,"day":"2026-11-27"}', schema="n INT NOT NULL, f FLOAT, day DATE", upsert=upsert)
    wide = "day TIMESTAMP, text STRING, n BIGINT NOT NULL, f DOUBLE"
    first = b'{"n":%d,"f":0.1,"day":"2026-11-27T00:00:00Z","text":"a","more":true}' % 2**40
    result = write(first, first.replace(b"76", b"77"), first.replace(b"76", b"78"), b'{"n":3}', schema=wide)
    changes = [
        "value: column day widened from date to timestamp",
        "value: column text string added",
        "value: column n widened from int to bigint",
        "value: column f widened from float to double",
    ]
    assert (result.schema, list(result.schema_changes), result.batches) == (wide, changes, 2)
    assert [line for line in lines if "column" in line] == [f"{topic}: {change}" for change in changes]
    assert [event.detail for event in events if event.step == Step.SCHEMA_CHANGED] == changes
    assert rows(result, "n", "f", "day", "text")[:2] == [(1, 0.5, AT, None), (2**40, 0.1, AT, "a")]
    # A field that is no longer declared keeps its column; without options the newest declaration counts.
    write(b'{"n":5,"f":2}', schema="n BIGINT, f DOUBLE")
    result = write(b'{"n":6,"text":"not declared"}')
    assert rows(result, "n", "f", "day", "text")[-2:] == [(5, 2.0, None, None), (6, None, None, None)]
    for schema, message in (
        ("n INT, f DOUBLE", "cannot follow the value's schema: n is bigint in the table, int now"),
        ("n STRING, f DOUBLE", "n is bigint in the table, string now: choose another name"),
        ("n BIGINT NOT NULL, f DOUBLE", "n may be null in the table, is NOT NULL now"),
    ):
        with pytest.raises(OptionError, match=message):
            write(schema=schema)
    assert write(b'{"n":7,"f":1}').table_rows == 8


def test_declared_fields_of_csv_and_of_files_change_the_table(
    engine: Engine, warehouse: Path, topics: Topics, tmp_path: Path
) -> None:
    topic = topics.create("csv-evolved", partitions=1)
    topics.fill(topic, [b"1;a"])
    run(engine, warehouse, topics, topic, value_format="csv", csv_delimiter=";", schema="n INT, t STRING")
    topics.fill(topic, [b"2;2026-11-27;%d" % 2**40])
    run(engine, warehouse, topics, topic, schema="t STRING, day DATE, n BIGINT")
    topics.fill(topic, [b"3;2026-11-28;4"])
    assert rows(run(engine, warehouse, topics, topic), "n", "t", "day") == [
        (1, "a", None),
        (2**40, "2", date(2026, 11, 27)),
        (4, "3", date(2026, 11, 28)),
    ]
    file = tmp_path / "fields.txt"
    file.write_text("n BIGINT, t STRING\n")
    topics.fill(topic, [b"5;b"])
    result = run(engine, warehouse, topics, topic, value_schema=file)
    assert (rows(result, "n", "t", "day")[-1], result.schema) == ((5, "b", None), "n BIGINT, t STRING")

    topic = topics.create("json-evolved", partitions=1)
    value, key = tmp_path / "value.txt", tmp_path / "key.txt"
    formats: dict[str, Any] = {"value_format": "json", "value_schema": value, "key_format": "json", "key_schema": key}
    value.write_text("n INT")
    key.write_text("id INT")
    topics.fill_records(topic, [(b'{"id":1}', b'{"n":1}', None)])
    run(engine, warehouse, topics, topic, **formats)
    value.write_text("n BIGINT, m ARRAY<STRING>")
    key.write_text("id BIGINT, part STRING")
    topics.fill_records(topic, [(b'{"id":2,"part":"p"}', b'{"n":%d,"m":["x"]}' % 2**40, None)])
    result = run(engine, warehouse, topics, topic, value_schema=value, key_schema=key)
    assert rows(result, "n", "m", "key_id", "key_part") == [(1, None, 1, None), (2**40, ["x"], 2, "p")]
    key.write_text("id STRING")
    with pytest.raises(OptionError, match="cannot follow the key's schema: id is bigint in the table, string now"):
        run(engine, warehouse, topics, topic, **formats)


def test_an_inferred_schema_is_extended_by_a_declaration_and_rejected_records_are_replayed_with_a_file(
    engine: Engine, warehouse: Path, topics: Topics, tmp_path: Path
) -> None:
    topic = topics.create("extended", partitions=1)
    topics.fill(topic, [b'{"n":1,"part":"a"}', b'{"n":2,"part":"b"}'])
    run(engine, warehouse, topics, topic, schema="infer", partition_by=("part",))
    topics.fill(topic, [b'{"n":3,"part":"a","late":true}'])
    run(engine, warehouse, topics, topic, schema="infer")
    topics.fill(topic, [b'{"n":4,"part":"a","late":true}', b'{"n":5,"part":"a","late":1}'])
    with pytest.raises(SchemaError, match="partition by part: the table has no such column"):
        run(engine, warehouse, topics, topic, schema="n BIGINT, late BOOLEAN")
    result = run(engine, warehouse, topics, topic, schema="n BIGINT, part STRING, late BOOLEAN, at STRUCT<x: INT>")
    assert rows(result, "n", "late") == [(1, None), (2, None), (3, None), (4, True)]
    assert result.dead_rows == 1

    topic = topics.create("mended", partitions=1)
    topics.fill(topic, [b'{"n":1}', b'{"n":%d}' % 2**40])
    assert run(engine, warehouse, topics, topic, schema="n INT").dead_rows == 1
    file = tmp_path / "fields.txt"
    file.write_text("n BIGINT, m INT")
    options = tables_options(topics, warehouse, topic, value_schema=file)
    assert replay_rejected(options, engine=engine, say=quiet).as_json()["replayed"] == 1
    state = StateFolder(warehouse, topic).read()
    assert state is not None
    assert state.schema == "n BIGINT, m INT"
    topics.fill(topic, [b'{"n":3,"m":4}'])
    assert rows(run(engine, warehouse, topics, topic), "n", "m") == [(1, None), (2**40, None), (3, 4)]
