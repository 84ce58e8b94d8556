"""Permitted changes of a table's schema."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.pipeline.schema_gate import SchemaBreakError, added_columns, is_widening, type_text, widened_columns

pytestmark = pytest.mark.spec("P5")


def struct(**fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": name, "type": kind} for name, kind in fields.items()]}


def test_the_same_schema_adds_nothing_whatever_the_case_of_names() -> None:
    assert added_columns(struct(a="long", b="string"), struct(A="long", b="string"), "t") == []


def test_new_columns_are_named() -> None:
    added = added_columns(struct(a="long"), struct(a="long", b="string"), "t")
    assert [field["name"] for field in added] == ["b"]


def test_every_changed_type_is_named_at_once() -> None:
    with pytest.raises(SchemaBreakError, match="a is bigint in the table, string now; c is array<int> in the table"):
        added_columns(
            struct(a="long", b="string", c={"type": "array", "elementType": "integer"}),
            struct(a="string", b="string", c={"type": "array", "elementType": "string"}),
            "t",
        )


def test_columns_that_only_the_table_has_stay() -> None:
    assert added_columns(struct(a="long", b="string"), struct(a="long"), "t") == []


def test_nested_types_are_spelled_out() -> None:
    inner = struct(x="integer", y={"type": "map", "keyType": "string", "valueType": "long"})
    assert type_text({"type": "array", "elementType": inner}) == "array<struct<x:int,y:map<string,bigint>>>"


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [("integer", "long"), ("short", "integer"), ("float", "double"), ("date", "timestamp")],
)
def test_what_is_wider(narrow: str, wide: str) -> None:
    assert is_widening(narrow, wide)
    assert not is_widening(wide, narrow)


@pytest.mark.parametrize(("before", "after"), [("long", "double"), ("integer", "string"), ("long", "long")])
def test_what_is_not(before: str, after: str) -> None:
    assert not is_widening(before, after)


def test_widened_columns_keep_their_names_and_the_columns_beside_them() -> None:
    table = struct(a="integer", b="string", c={"type": "map", "keyType": "string", "valueType": "float"})
    wanted = struct(A="long", c={"type": "map", "keyType": "string", "valueType": "double"}, d="long")
    assert [(field["name"], type_text(field["type"])) for field in widened_columns(table, wanted)] == [
        ("a", "bigint"),
        ("b", "string"),
        ("c", "map<string,double>"),
    ]
    assert widened_columns(table, struct(b="long", d="long")) == []
