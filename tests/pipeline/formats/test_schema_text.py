"""Column types in the JSON form that Spark and Delta share."""

from __future__ import annotations

import json

from deltalake import Schema

from signalbox.pipeline.formats.schema_text import array, column, map_of, struct


def test_types_are_those_of_delta() -> None:
    fields = [
        column("a", array("long")),
        column("m", map_of("string", struct([column("x", "double", optional=False)]))),
    ]
    read = json.loads(Schema.from_json(json.dumps(struct(fields))).to_json())
    assert read["fields"] == fields
