"""Tables from Avro, Protobuf and CSV: schemas of a real registry, whose storage is a topic of the same brokers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import PipelineEvent, Step
from signalbox.pipeline.formats.registry import RegistryError
from signalbox.pipeline.options import OptionError
from signalbox.pipeline.sinks.delta_log import read_table
from signalbox.pipeline.stream import PipelineError
from signalbox.pipeline.tables.declared_columns import SchemaError
from signalbox.testing.free_ports import free_ports
from tests.pipeline.tables.decoded_tables import framed_avro, record, rows, run
from tests.pipeline.topics import Topics

NARROW = record(("id", "int"), ("delay", ["null", "float"]))
WIDE = record(("id", "long"), ("delay", ["null", "double"]), ("gate", ["null", "string"]))


@pytest.mark.spec("P4", "P5", "P6")
@pytest.mark.timeout(400)
def test_a_table_follows_the_registry_while_it_is_written(
    engine: Engine, warehouse: Path, topics: Topics, registry: str
) -> None:
    topic = topics.create("avro", partitions=1)
    client = SchemaRegistryClient({"url": registry})
    narrow = client.register_schema(f"{topic}-value", Schema(json.dumps(NARROW), "AVRO"))
    first = [framed_avro(narrow, NARROW, {"id": number, "delay": 0.5}) for number in (1, 2)]
    wide_values: list[bytes] = []

    def register_wider(event: PipelineEvent) -> None:
        if event.step == Step.BATCH_DONE and not wide_values:
            client.set_compatibility(f"{topic}-value", "NONE")
            wide = client.register_schema(f"{topic}-value", Schema(json.dumps(WIDE), "AVRO"))
            wide_values.append(framed_avro(wide, WIDE, {"id": 2**40, "delay": 0.1, "gate": "B7"}))
            topics.fill_records(topic, [(b"\0\0\0\7", wide_values[0], None)])

    # The records of the first run's later batches are there when it begins; the wider ones come while it runs.
    topics.fill_records(topic, [(b"\0\0\0\1", value, None) for value in (*first, b"\0\0\1\2\3x", None)])
    formats: dict[str, Any] = {"value_format": "avro", "schema_registry": registry, "key_format": "int"}
    begun = run(engine, warehouse, topics, topic, listener=register_wider, **formats)
    continued = run(engine, warehouse, topics, topic)
    assert (begun.dead_rows, continued.dead_rows) == (1, 0)
    assert rows(continued, "key_value", "id", "delay", "gate") == [
        (1, 1, 0.5, None),
        (1, 2, 0.5, None),
        (1, None, None, None),
        (7, 2**40, 0.1, "B7"),
    ]
    assert continued.dead_table is not None
    (dead,) = read_table(continued.dead_table).to_pylist()
    assert (dead["reason"], dead["topic"], dead["partition"], dead["offset"], dead["value"]) == (
        "unknown_schema_id:66051", topic, 0, 2, b"\0\0\1\2\3x",
    )  # fmt: skip


class KilledError(Exception):
    """Ends a run at a step, as a kill would."""


@pytest.mark.spec("P3", "P4")
@pytest.mark.timeout(400)
def test_an_id_that_the_registry_has_by_the_repeat_of_a_batch_adds_no_record_twice(
    engine: Engine, warehouse: Path, topics: Topics, registry: str
) -> None:
    topic = topics.create("late-id", partitions=1)
    client = SchemaRegistryClient({"url": registry})
    # A schema that no other test registers: Apicurio gives equal content its old id, and the next one must be free.
    newest = NARROW | {"namespace": topic.replace("-", "_")}
    first = client.register_schema(f"{topic}-value", Schema(json.dumps(newest), "AVRO"))
    late = record(("id", "int")) | {"namespace": newest["namespace"]}
    values = [framed_avro(first, newest, {"id": 1, "delay": 0.5}), framed_avro(first + 1, late, {"id": 2})]
    topics.fill(topic, values)

    def kill(event: PipelineEvent) -> None:
        if event.step == Step.TABLE_COMMITTED:
            raise KilledError

    formats: dict[str, Any] = {"value_format": "avro", "schema_registry": registry}
    with pytest.raises((KilledError, PipelineError)):
        run(engine, warehouse, topics, topic, listener=kill, **formats)
    assert client.register_schema(f"{topic}-other", Schema(json.dumps(late), "AVRO")) == first + 1
    result = run(engine, warehouse, topics, topic)
    assert result.dead_table is not None
    assert rows(result, "offset", "id") == [(0, 1)]
    assert [row["reason"] for row in read_table(result.dead_table).to_pylist()] == [f"unknown_schema_id:{first + 1}"]


@pytest.mark.spec("P4")
def test_protobuf_by_a_file_and_csv_by_declared_fields(
    engine: Engine, warehouse: Path, topics: Topics, tmp_path: Path
) -> None:
    topic = topics.create("proto", partitions=1)
    topics.fill_records(topic, [(b"k", b"\x08\x05\x12\x01x", [("trace", b"t1")])])
    proto = tmp_path / "flight.proto"
    proto.write_text('syntax = "proto3"; message Flight { int64 id = 1; string gate = 2; }')
    formats: dict[str, Any] = {"value_format": "protobuf", "value_schema": proto, "headers": {"trace": "string"}}
    result = run(engine, warehouse, topics, topic, **formats)
    assert rows(result, "id", "gate", "header_trace") == [(5, "x", "t1")]
    with pytest.raises(OptionError, match="was begun with value format protobuf, not csv"):
        run(engine, warehouse, topics, topic, value_format="csv", schema="a INT")

    topic = topics.create("csv", partitions=1)
    topics.fill(topic, [b"1;a,b", b"2", b";"])
    result = run(
        engine, warehouse, topics, topic, value_format="csv", csv_delimiter=";", schema="n INT NOT NULL, t STRING"
    )
    assert (rows(result, "n", "t"), result.dead_rows) == ([(1, "a,b")], 2)


@pytest.mark.spec("P4")
def test_what_cannot_be_decoded_is_rejected_before_anything_is_written(
    engine: Engine, warehouse: Path, topics: Topics, tmp_path: Path
) -> None:
    topic = topics.create("unready", partitions=1)
    topics.fill(topic, [b"x"])
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    with pytest.raises(RegistryError, match=f"schema registry {url} cannot be reached for subject {topic}-value"):
        run(engine, warehouse, topics, topic, value_format="avro", schema_registry=url)
    schema = tmp_path / "s.avsc"
    schema.write_text(json.dumps(record(("key_value", "int"))))
    with pytest.raises(SchemaError, match="more than one column key_value"):
        run(engine, warehouse, topics, topic, value_format="avro", value_schema=schema, key_format="string")
    assert not (warehouse / topic).exists()


@pytest.mark.spec("P3", "P6")
def test_a_registry_that_cannot_be_reached_stops_the_run_and_nothing_is_lost(
    engine: Engine, warehouse: Path, topics: Topics, registry: str
) -> None:
    topic = topics.create("down", partitions=1)
    schema_id = SchemaRegistryClient({"url": registry}).register_schema(f"{topic}-value", Schema('"long"', "AVRO"))
    topics.fill(topic, [framed_avro(schema_id, "long", 1)])
    run(engine, warehouse, topics, topic, value_format="avro", schema_registry=registry)
    topics.fill(topic, [framed_avro(schema_id, "long", 2)])
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    with pytest.raises(RegistryError, match=f"schema registry {url} cannot be reached"):
        run(engine, warehouse, topics, topic, schema_registry=url)
    result = run(engine, warehouse, topics, topic, schema_registry=registry)
    assert (rows(result, "value_value"), result.dead_rows) == ([(1,), (2,)], 0)
