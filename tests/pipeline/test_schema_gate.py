"""Permitted changes of a table's schema."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.pipeline.schema_gate import SchemaBreakError, added_columns, type_text

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
