"""Arrow batches of records: structs and reasons are added."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from signalbox.pipeline.formats import record_decoder
from signalbox.pipeline.formats.part_decoder import PartSpec
from signalbox.pipeline.formats.record_decoder import RecordDecoder, part_column
from signalbox.pipeline.formats.registry import RegistryError, RegistrySettings
from signalbox.pipeline.formats.schema_text import column
from signalbox.pipeline.topic_client import RECORD_SCHEMA
from signalbox.testing.free_ports import free_ports

AT = datetime(2026, 1, 1, tzinfo=UTC)
STRUCT = pa.struct([("value", pa.string())])


def batch(*records: tuple[bytes | None, bytes | None, Any]) -> pa.RecordBatch:
    rows = [
        {"key": k, "value": v, "topic": "t", "partition": 3, "offset": 40 + index, "timestamp": AT, "headers": h}
        for index, (k, v, h) in enumerate(records)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=RECORD_SCHEMA)


@pytest.mark.spec("P4", "P6")
def test_parts_are_decoded_and_the_first_bad_one_is_the_reason() -> None:
    text = (column("value", "string"),)
    specs = tuple(PartSpec(part=part, format="string", columns=text) for part in ("value", "key", "header:h"))
    decoder = RecordDecoder(specs, {spec.part: STRUCT for spec in specs})
    headers = [{"key": "h", "value": b"old"}, {"key": "h", "value": b"new"}]
    (decoded,) = decoder.batches(iter([batch((b"k", b"v", headers), (b"\xff", None, None), (b"\xff", b"\xff", None))]))
    assert decoded.schema.names[:7] == RECORD_SCHEMA.names
    assert decoded.column(part_column("value")).to_pylist() == [{"value": "v"}, None, None]
    assert decoded.column(part_column("key")).to_pylist() == [{"value": "k"}, None, None]
    assert decoded.column(part_column("header:h")).to_pylist() == [{"value": "new"}, None, None]
    assert decoded.column(record_decoder.REASON).to_pylist() == [None, "key:not_utf8", "not_utf8"]


@pytest.mark.spec("P6")
def test_a_record_that_arrow_rejects_does_not_end_the_run() -> None:
    text, number = (column("value", "string"),), (column("value", "long"),)
    specs = (
        PartSpec(part="value", format="long", columns=number),
        PartSpec(part="key", format="string", columns=text),
    )
    narrow = pa.struct([("value", pa.int32())])  # so that a number fits its column and not its array
    decoder = RecordDecoder(specs, {"value": narrow, "key": STRUCT})
    good, bad = (7).to_bytes(8, "big"), (2**40).to_bytes(8, "big")
    decoded = decoder.batch(batch((b"k", good, None), (b"k", bad, None), (b"\xff", good, None)))
    assert decoded.column(part_column("value")).to_pylist() == [{"value": 7}, None, {"value": 7}]
    assert decoded.column(part_column("key")).to_pylist() == [{"value": "k"}, None, None]
    assert decoded.column(record_decoder.REASON).to_pylist() == [None, "type:value", "key:not_utf8"]


@pytest.mark.spec("P6")
def test_a_string_that_utf8_cannot_have_rejects_its_record() -> None:
    spec = PartSpec(part="value", format="json", columns=(column("value", "string"),))
    decoder = RecordDecoder((spec,), {"value": STRUCT})
    decoded = decoder.batch(batch((None, rb'{"value": "\ud83d"}', None), (None, rb'{"value": "\ud83d\ude00"}', None)))
    assert decoded.column(part_column("value")).to_pylist() == [None, {"value": "\U0001f600"}]
    assert decoded.column(record_decoder.REASON).to_pylist() == ["type:value", None]


@pytest.mark.spec("P4", "P6")
def test_a_registry_that_is_down_ends_the_run_with_the_record() -> None:
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    spec = PartSpec(part="value", format="avro", registry=RegistrySettings(url, {"max.retries": "0"}))
    decoder = RecordDecoder((spec,), {"value": pa.struct([])})
    with pytest.raises(RegistryError) as raised:
        decoder.batch(batch((None, b"\0\0\0\0\x07x", None)))
    assert str(raised.value).startswith(f"schema registry {url} cannot be reached for schema id 7: ")
    assert str(raised.value).endswith("(value of topic t, partition 3, offset 40)")
