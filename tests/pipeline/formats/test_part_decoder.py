"""One part of a record: framed values are decoded with the schema whose id they carry."""

from __future__ import annotations

import json

import pytest

from signalbox.pipeline.formats.part_decoder import PartDecoder, PartSpec, decode_error_reason
from signalbox.pipeline.formats.registry import Registry, RegistrySettings
from signalbox.pipeline.formats.schema_text import DecodeError, SchemaText, column


def record(*fields: tuple[str, str]) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields]})


class KnownSchemas(Registry):
    """A registry that has these schemas and counts the requests."""

    def __init__(self, schemas: dict[int, str]) -> None:
        self.schemas = schemas
        self.requests: list[int] = []

    def by_id(self, schema_id: int, registry_type: str) -> SchemaText:
        self.requests.append(schema_id)
        if schema_id not in self.schemas:
            raise DecodeError(f"unknown_schema_id:{schema_id}")
        return SchemaText(self.schemas[schema_id])


@pytest.mark.spec("P4", "P5")
def test_each_writer_has_its_schema_and_all_fit_the_same_columns() -> None:
    registry = KnownSchemas({1: record(("a", "int")), 2: record(("a", "long"), ("b", "string"))})
    spec = PartSpec(
        part="value",
        format="avro",
        columns=(column("a", "long"), column("b", "string")),
        registry=RegistrySettings("http://r"),
    )
    decoder = PartDecoder(spec, registry)
    assert decoder.row(b"\0\0\0\0\x01\x04") == {"a": 2, "b": None}
    assert decoder.row(b"\0\0\0\0\x02\x06\x02x") == {"a": 3, "b": "x"}
    assert decoder.row(b"\0\0\0\0\x01\x08") == {"a": 4, "b": None}
    assert registry.requests == [1, 2]


@pytest.mark.spec("P6")
def test_values_that_carry_no_known_schema_are_rejected() -> None:
    spec = PartSpec(part="value", format="avro", registry=RegistrySettings("http://r"))
    decoder = PartDecoder(spec, KnownSchemas({}))
    for data, reason in (
        (b"", "not_framed"),
        (b'{"json": 1}', "not_framed"),
        (b"\0\0\0\0\x09x", "unknown_schema_id:9"),
    ):
        with pytest.raises(DecodeError, match=f"^{reason}$"):
            decoder.row(data)


@pytest.mark.spec("P5", "P6")
def test_a_field_that_the_table_has_not_yet_rejects_the_record() -> None:
    spec = PartSpec(
        part="value", format="avro", columns=(column("a", "integer"),), schema=SchemaText(record(("b", "int")))
    )
    with pytest.raises(DecodeError, match=r"^column:b$"):
        PartDecoder(spec).row(b"\x02")


def test_the_reason_names_the_part() -> None:
    assert decode_error_reason("value", DecodeError("not_avro")) == "not_avro"
    assert decode_error_reason("key", DecodeError("not_avro")) == "key:not_avro"
