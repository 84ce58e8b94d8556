"""Every format of the table can be built."""

from __future__ import annotations

import pytest

from signalbox.pipeline.formats.format_table import FORMAT_NAMES, FORMATS, SCALARS, DecoderInput
from signalbox.pipeline.formats.scalars import SCALAR_FORMATS
from signalbox.pipeline.formats.schema_text import SchemaText, column

SCHEMAS = {
    "avro": '"long"',
    "protobuf": 'syntax = "proto3"; message M { int64 value = 1; }',
    "json-schema": '{"type": "object", "properties": {"value": {"type": "integer"}}}',
}


@pytest.mark.spec("P4")
@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_built_from_its_input(name: str) -> None:
    part = DecoderInput((column("value", "long"),), SchemaText(SCHEMAS.get(name, "")))
    assert [field["name"] for field in FORMATS[name].build(part).columns] == ["value"]
    assert bool(FORMATS[name].registry_type) == (name in SCHEMAS)


def test_names() -> None:
    assert SCALARS == SCALAR_FORMATS
    assert ("raw", *FORMATS) == FORMAT_NAMES
