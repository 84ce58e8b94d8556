"""Columns follow schemas: added and widened, never taken away."""

from __future__ import annotations

import pytest

from signalbox.pipeline.formats.evolution import evolved, unfitting, with_declared_fields
from signalbox.pipeline.formats.schema_text import Field, array, column, map_of, struct

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


def test_declared_fields_are_added_widened_and_left_null_in_their_order() -> None:
    table = (column("id", "integer", optional=False), column("gone", "string"), column("day", "date"))
    fields = (column("new", "string"), column("day", "timestamp"), column("id", "long"))
    assert with_declared_fields(table, fields) == (
        fields,
        [
            "new string added",
            "day widened from date to timestamp",
            "id widened from int to bigint",
            "id may be null now",
            "gone is no longer declared: it stays, null in new rows",
        ],
        [],
    )
    assert with_declared_fields(fields, fields) == (fields, [], [])


def test_declared_fields_inside_others_are_added_and_stay() -> None:
    table = (
        column("legs", array(struct([column("a", "integer"), column("b", "date")]))),
        column("m", map_of("string", "float")),
    )
    fields = (
        column("legs", array(struct([column("c", "string"), column("a", "long")]))),
        column("m", map_of("string", "double")),
    )
    columns, _, faults = with_declared_fields(table, fields)
    expected = array(struct([column("a", "long"), column("b", "date"), column("c", "string")]))
    assert (columns, faults) == ((column("legs", expected), fields[1]), [])


@pytest.mark.parametrize(
    ("before", "now", "fault"),
    [
        (column("a", "long"), column("a", "integer"), "a is bigint in the table, int now"),
        (column("a", "long"), column("a", "double"), "a is bigint in the table, double now"),
        (column("a", "string"), column("a", struct([])), "a is string in the table, struct<> now"),
        (column("a", array("long")), column("a", map_of("string", "long")), "a is array<bigint> in the table, map"),
        (column("a", map_of("string", "long")), column("a", map_of("integer", "long")), "a is map<string,bigint> in"),
        (
            column("a", struct([column("x", "long")])),
            column("a", struct([column("X", "long")])),
            "a is struct<x:bigint>",
        ),
        (column("a", "long"), column("A", "long"), "a is the name in the table, A now"),
        (column("a", "long"), column("a", "long", optional=False), "a may be null in the table, is NOT NULL now"),
    ],
)
def test_declared_fields_that_the_columns_cannot_follow(before: Field, now: Field, fault: str) -> None:
    _, _, faults = with_declared_fields((before,), (now,))
    assert len(faults) == 1
    assert faults[0].startswith(fault)
