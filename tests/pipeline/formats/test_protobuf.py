"""Protobuf messages become fields; the bytes are written out, as the encoding's specification has them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from signalbox.pipeline.formats.protobuf import message_indexes, protobuf_decoder
from signalbox.pipeline.formats.schema_text import DecodeError, Decoder, SchemaText, SchemaTextError
from signalbox.pipeline.schema_gate import type_text

pytestmark = pytest.mark.spec("P4")

PROTO = """syntax = "proto3";
package fleet;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum State { GROUND = 0; AIR = 1; }
message Flight {
  int64 id = 1;
  google.protobuf.Timestamp at = 2;
  optional string gate = 3;
  repeated Flight legs = 4;
  map<string, int32> weights = 5;
  State state = 6;
  google.protobuf.Int32Value delay = 7;
  uint64 serial = 8;
  Plane plane = 9;
  message Plane { bytes tail = 1; }
}
message Crew { int32 size = 1; }
"""


@pytest.fixture(scope="module")
def flight() -> Decoder:
    return protobuf_decoder(SchemaText(PROTO))


def test_the_fields_of_the_first_message_are_the_columns(flight: Decoder) -> None:
    assert {field["name"]: type_text(field["type"]) for field in flight.columns} == {
        "id": "bigint",
        "at": "timestamp",
        "gate": "string",
        "legs": "array<string>",
        "weights": "map<string,int>",
        "state": "string",
        "delay": "int",
        "serial": "decimal(20,0)",
        "plane": "struct<tail:binary>",
    }


def test_a_message_is_read(flight: Decoder) -> None:
    data = (
        b"\x08\x05\x12\x02\x08\x01\x1a\x02B7\x2a\x05\x0a\x01a\x10\x03\x30\x01\x3a\x02\x08\x02\x40\x09\x4a\x03\x0a\x01N"
    )
    assert flight.decode(data) == {
        "id": 5,
        "at": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        "gate": "B7",
        "legs": [],
        "weights": {"a": 3},
        "state": "AIR",
        "delay": 2,
        "serial": Decimal(9),
        "plane": {"tail": b"N"},
    }


def test_absent_fields_are_null_or_their_default(flight: Decoder) -> None:
    row = flight.decode(b"\x22\x02\x08\x07\x30\x09")
    assert (row["id"], row["at"], row["gate"], row["delay"], row["plane"]) == (0, None, None, None, None)
    assert (row["legs"], row["state"]) == (['{"id": "7"}'], "9")


@pytest.mark.parametrize(
    ("data", "indexes", "content"),
    [
        (b"\x00ab", (0,), b"ab"),
        (b"\x02\x02ab", (1,), b"ab"),
        (b"\x04\x00\x02", (0, 1), b""),
        (b"\x02\x80\x01", (64,), b""),
    ],
)
def test_message_indexes_are_zigzag_varints(data: bytes, indexes: tuple[int, ...], content: bytes) -> None:
    assert message_indexes(data) == (indexes, content)


@pytest.mark.spec("P6")
@pytest.mark.parametrize("data", [b"", b"\x80", b"\x02", b"\x01", b"\x02\x01x", b"\xff\xff\xff\xff\xff\xff\xff"])
def test_bad_message_indexes_are_rejected(data: bytes) -> None:
    with pytest.raises(DecodeError, match="message_index"):
        message_indexes(data)


def test_a_framed_value_names_its_message() -> None:
    decoder = protobuf_decoder(SchemaText(PROTO, message="fleet.Crew"), framed=True)
    assert decoder.decode(b"\x02\x02\x08\x07") == {"size": 7}
    assert decoder.decode(b"\x04\x00\x00\x0a\x01N") == {"tail": b"N"}
    with pytest.raises(DecodeError, match="message_index:7"):
        decoder.decode(b"\x02\x0e")


def test_a_schema_may_import_others() -> None:
    other = 'syntax = "proto3"; message Other { bool b = 1; }'
    text = 'syntax = "proto3"; import "shared/other.proto"; message M { Other o = 1; }'
    decoder = protobuf_decoder(SchemaText(text, (("shared/other.proto", other),)))
    assert decoder.decode(b"\x0a\x02\x08\x01") == {"o": {"b": True}}


@pytest.mark.spec("P6")
def test_other_bytes_are_rejected(flight: Decoder) -> None:
    with pytest.raises(DecodeError, match="not_protobuf"):
        flight.decode(b"\x0a\xff")


@pytest.mark.spec("P6")
@pytest.mark.parametrize(
    "data",
    [
        b"\x12\x0b\x0a\x09\x11\x00\x00\x00\x00\x00\x00\xf8\x7f",  # next { value { number_value: nan } }
        b"\x12\x0a\x1a\x08\x0a\x06x/no.T",  # next { any { type_url: "x/no.T" } }
    ],
)
def test_a_message_inside_itself_that_has_no_json_text_is_rejected(data: bytes) -> None:
    text = """syntax = "proto3"; import "google/protobuf/struct.proto"; import "google/protobuf/any.proto";
    message Node { google.protobuf.Value value = 1; Node next = 2; google.protobuf.Any any = 3; }"""
    with pytest.raises(DecodeError, match=r"^not_protobuf$"):
        protobuf_decoder(SchemaText(text)).decode(data)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (SchemaText("message {"), "cannot be read: .*proto"),
        (SchemaText('syntax = "proto3";'), "has no message$"),
        (SchemaText(PROTO, message="Nothing"), "has no message Nothing; it has fleet.Flight, fleet.Crew"),
        (SchemaText('syntax = "proto3"; message E {}'), "the Protobuf message E has no fields"),
        (SchemaText(PROTO, (("../x.proto", ""),)), "outside its folder"),
    ],
)
def test_what_is_no_schema_is_an_error(schema: SchemaText, problem: str) -> None:
    with pytest.raises(SchemaTextError, match=problem):
        protobuf_decoder(schema)
