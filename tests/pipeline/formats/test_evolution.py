"""Columns follow schemas: added and widened, never taken away."""

from __future__ import annotations

import pytest

from signalbox.pipeline.formats.evolution import evolved, unfitting
from signalbox.pipeline.formats.schema_text import array, column, struct

pytestmark = pytest.mark.spec("P5")


def test_fields_are_added_and_widened_and_what_the_schema_lacks_stays() -> None:
    table = (column("id", "integer"), column("gone", "string"), column("big", "long"))
    schema = (column("ID", "long"), column("big", "integer"), column("new", "date", optional=False))
    columns, changes = evolved(table, schema)
    assert columns == (column("id", "long"), column("gone", "string"), column("big", "long"), column("new", "date"))
    assert changes == ["id widened from int to bigint", "new date added"]
    assert evolved(columns, schema) == (columns, [])


def test_types_that_cannot_be_followed_are_reported_and_stay() -> None:
    table, schema = (column("a", "string"), column("b", "long")), (column("a", "long"), column("b", "integer"))
    assert evolved(table, schema) == (table, [])
    assert unfitting(table, schema) == ["a is string in the table, bigint now"]


def test_fields_are_added_to_structs_wherever_they_are() -> None:
    table = (column("legs", array(struct([column("a", "integer")]))),)
    schema = (column("legs", array(struct([column("a", "long"), column("b", "string")]))),)
    columns, changes = evolved(table, schema)
    assert columns == schema
    assert changes == ["legs widened from array<struct<a:int>> to array<struct<a:bigint,b:string>>"]
    assert unfitting(columns, table) == []
