"""Every format of a real registry: framed values, references, other subjects, schemas that change within a batch, a
registry that demands a login."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient

from signalbox.pipeline.engine import Engine
from signalbox.pipeline.events import PipelineEvent, Step
from signalbox.pipeline.formats.registry import RegistryError
from signalbox.pipeline.observe.run_metrics import RunMetrics
from signalbox.pipeline.positions.backfill import run_backfill
from signalbox.pipeline.rejected.replay import replay_rejected
from tests.pipeline.json_server import JsonHandler, served
from tests.pipeline.tables.decoded_tables import framed, framed_avro, quiet, record, rows, run, tables_options
from tests.pipeline.topics import Topics

pytestmark = pytest.mark.timeout(400)

NARROW = record(("id", "int"))
WIDE = record(("id", "long"), ("gate", ["null", "string"]))
CREW = 'syntax = "proto3"; message Crew { int32 size = 1; } message Flight { int64 id = 1; Gate gate = 2; }'


class Registered:
    """Schemas of one subject; any change of a schema is allowed."""

    def __init__(self, url: str, subject: str, kind: str = "AVRO") -> None:
        self.subject = subject
        self._kind = kind
        self._client = SchemaRegistryClient({"url": url})

    def add(self, text: str, *references: SchemaReference) -> int:
        """Registers a schema and returns its id."""
        schema_id = self._client.register_schema(self.subject, Schema(text, self._kind, list(references)))
        self._client.set_compatibility(self.subject, "NONE")
        return int(schema_id)


@pytest.mark.spec("P4")
def test_avro_with_a_reference_under_another_subject(
    engine: Engine, warehouse: Path, topics: Topics, registry: str
) -> None:
    topic = topics.create("avro-reference", partitions=1)
    gate = {"type": "record", "name": "Gate", "fields": [{"name": "name", "type": "string"}]}
    Registered(registry, f"{topic}.Gate").add(json.dumps(gate))
    flights = Registered(registry, f"{topic}.Flight")
    schema = record(("id", "int"), ("gate", "Gate"))
    schema_id = flights.add(json.dumps(schema), SchemaReference("Gate", f"{topic}.Gate", 1))
    complete = record(("id", "int"), ("gate", gate))
    topics.fill(topic, [framed_avro(schema_id, complete, {"id": 1, "gate": {"name": "B7"}})])
    formats: dict[str, Any] = {"value_format": "avro", "schema_registry": registry}
    with pytest.raises(RegistryError, match=f"has no subject {topic}-value: name it with --value-subject"):
        run(engine, warehouse, topics, topic, **formats)
    run(engine, warehouse, topics, topic, value_subject=flights.subject, **formats)
    # The subject is stored, and followed without the option.
    wide = flights.add(json.dumps(WIDE))
    topics.fill(topic, [framed_avro(wide, WIDE, {"id": 2**40, "gate": "C1"})])
    result = run(engine, warehouse, topics, topic)
    assert rows(result, "id", "gate") == [(1, {"name": "B7"})]
    assert (result.dead_rows, result.type_changes) == (
        1,
        (
            "value: gate is struct<name:string> in the table, string now: records with values that do not fit are "
            "rejected",
        ),
    )
    # As it is if the other options are given again.
    topics.fill(topic, [framed_avro(schema_id, complete, {"id": 3, "gate": {"name": "A"}})])
    assert rows(run(engine, warehouse, topics, topic, **formats), "id") == [(1,), (3,)]


@pytest.mark.spec("P4")
def test_framed_protobuf_with_a_reference_and_a_later_message(
    engine: Engine, warehouse: Path, topics: Topics, registry: str
) -> None:
    topic = topics.create("proto-reference", partitions=1)
    gate = 'syntax = "proto3"; message Gate { string name = 1; }'
    Registered(registry, f"{topic}.gate", "PROTOBUF").add(gate)
    reference = SchemaReference("gate.proto", f"{topic}.gate", 1)
    text = CREW.replace(";", '; import "gate.proto";', 1)
    schema_id = Registered(registry, f"{topic}-value", "PROTOBUF").add(text, reference)
    flight = b"\x08\x05\x12\x04\x0a\x02B7"
    second = b"\x02\x02"  # one index, of the second message
    topics.fill(topic, [framed(schema_id, second + flight), framed(schema_id, b"\x02\x06" + flight), b"\x08\x05"])
    result = run(
        engine,
        warehouse,
        topics,
        topic,
        value_format="protobuf",
        value_message="Flight",
        schema_registry=registry,
    )
    assert (rows(result, "id", "gate"), result.dead_rows) == ([(5, {"name": "B7"})], 2)


@pytest.mark.spec("P4")
def test_framed_json_schema_with_a_reference(engine: Engine, warehouse: Path, topics: Topics, registry: str) -> None:
    topic = topics.create("json-reference", partitions=1)
    gate = {"type": "object", "properties": {"name": {"type": "string"}}}
    Registered(registry, f"{topic}.gate", "JSON").add(json.dumps(gate))
    flight = {"type": "object", "properties": {"id": {"type": "integer"}, "gate": {"$ref": "gate.json"}}}
    flights = Registered(registry, f"{topic}-value", "JSON")
    schema_id = flights.add(json.dumps(flight), SchemaReference("gate.json", f"{topic}.gate", 1))
    topics.fill(topic, [framed(schema_id, b'{"id":1,"gate":{"name":"B7"}}'), framed(schema_id, b'{"id":"x"}')])
    result = run(engine, warehouse, topics, topic, value_format="json-schema", schema_registry=registry)
    assert (rows(result, "id", "gate"), result.dead_rows) == ([(1, {"name": "B7"})], 1)


@pytest.mark.spec("P4", "P5")
@pytest.mark.parametrize("first", ["narrow", "wide"])
def test_one_batch_has_records_of_two_schemas(
    engine: Engine, warehouse: Path, topics: Topics, registry: str, first: str
) -> None:
    topic = topics.create("two-schemas", partitions=2)
    flights = Registered(registry, f"{topic}-value")
    schemas = {"narrow": NARROW, "wide": WIDE}
    ids = {name: flights.add(json.dumps(schemas[name])) for name in sorted(schemas, key=lambda name: name != first)}
    values = {
        "narrow": [framed_avro(ids["narrow"], NARROW, {"id": number}) for number in range(3)],
        "wide": [framed_avro(ids["wide"], WIDE, {"id": 2**40 + number, "gate": "B7"}) for number in range(3)],
    }
    topics.fill(topic, [value for pair in zip(values["wide"], values["narrow"]) for value in pair])
    result = run(
        engine, warehouse, topics, topic, value_format="avro", schema_registry=registry, max_records_per_batch=100
    )
    # The newest schema has the columns; if it is the narrow one, what it lacks has none.
    wide = [(2**40 + number, "B7") for number in range(3)]
    if first == "narrow":
        assert sorted(rows(result, "id", "gate")) == [*((number, None) for number in range(3)), *wide]
        assert (result.batches, result.dead_rows) == (1, 0)
    else:
        assert (sorted(rows(result, "id")), result.batches, result.dead_rows) == ([(0,), (1,), (2,)], 1, 3)


@pytest.mark.spec("P5", "P9")
def test_a_type_that_changed_is_reported_once(engine: Engine, warehouse: Path, topics: Topics, registry: str) -> None:
    topic = topics.create("type-change", partitions=1)
    flights = Registered(registry, f"{topic}-value")
    first = flights.add(json.dumps(NARROW))
    topics.fill(topic, [framed_avro(first, NARROW, {"id": 0})])
    run(engine, warehouse, topics, topic, value_format="avro", schema_registry=registry)
    text = record(("id", "string"), ("gate", ["null", "string"]))
    second = flights.add(json.dumps(text))
    topics.fill(topic, [framed_avro(second, text, {"id": "x", "gate": "B7"})] * 4)
    topics.fill(topic, [framed_avro(first, NARROW, {"id": 1})])
    lines: list[str] = []
    events: list[PipelineEvent] = []
    metrics = RunMetrics()

    def listener(event: PipelineEvent) -> None:
        metrics(event)
        events.append(event)

    result = run(engine, warehouse, topics, topic, listener=listener, say=lines.append)
    change = "value: id is int in the table, string now: records with values that do not fit are rejected"
    assert result.batches == 3
    assert (rows(result, "id"), result.dead_rows) == ([(0,), (1,)], 4)
    assert [line for line in lines if "in the table, string" in line] == [f"{topic}: {change}"]
    assert [event.detail for event in events if event.step == Step.TYPE_CHANGED] == [change]
    as_json = result.as_json()
    assert as_json["type_changes"] == (change,)
    assert as_json["schema_changes"] == ("value: column gate string added",)
    for name in ("type", "schema"):
        sample = f"signalbox_pipeline_{name}_changes_total"
        assert metrics.registry.get_sample_value(sample, {"table": topic}) == 1


@pytest.mark.spec("P7", "P9")
def test_a_registry_with_a_login_is_named_again_by_backfill_and_replay(
    engine: Engine, warehouse: Path, topics: Topics, registry: str
) -> None:
    login = {"basic.auth.user.info": "lake:p@ss"}

    class Gateway(JsonHandler):
        """In front of the registry, as a web server with a login."""

        def do_GET(self) -> None:
            if self.headers["Authorization"] != "Basic " + base64.b64encode(b"lake:p@ss").decode():
                self.answer({"error_code": 401, "message": "Unauthorized"}, 401)
                return
            try:
                with urlopen(registry + self.path, timeout=60) as response:
                    self.answer(json.load(response))
            except HTTPError as error:
                self.answer(json.load(error), error.code)

    topic = topics.create("login", partitions=1)
    schema_id = Registered(registry, f"{topic}-value").add(json.dumps(NARROW))
    values = [framed_avro(schema_id, NARROW, {"id": number}) for number in range(3)]
    # The last record's schema is registered later.
    topics.fill(topic, [*values, framed(schema_id + 1_000, values[0][5:])])
    with served(Gateway) as url:
        with_login = url.replace("://", "://lake:p@ss@")
        formats: dict[str, Any] = {"value_format": "avro", "schema_registry": with_login}
        run(engine, warehouse, topics, topic, starting=f"{topic}:0:2", **formats)
        for file in (warehouse / ".signalbox" / topic).rglob("*"):
            assert not file.is_file() or b"p@ss" not in file.read_bytes()
        options = tables_options(topics, warehouse, topic)
        for command in (run_backfill, replay_rejected):
            with pytest.raises(RegistryError, match=r"Unauthorized; give basic.auth.user.info") as raised:
                command(options, engine=engine, say=quiet)
            assert "p@ss" not in str(raised.value)
        options = tables_options(topics, warehouse, topic, registry_options=login)
        assert run_backfill(options, engine=engine, say=quiet).rows == 2
        assert replay_rejected(options, engine=engine, say=quiet).rejected == 1
        assert rows(run(engine, warehouse, topics, topic, registry_options=login), "id") == [(0,), (1,), (2,)]
