"""The records of the benchmark are JSON of 1 KB with the fields of its schema."""

from __future__ import annotations

import json

from bench.pipeline.records import RECORD_BYTES, SCHEMA, notes, record


def test_a_record_has_its_size_and_its_fields() -> None:
    note = notes()[0]
    for number in (0, 999_999):
        value = record(number, note)
        assert len(value) == RECORD_BYTES
        assert list(json.loads(value)) == [field.split()[0] for field in SCHEMA.split(", ")]
