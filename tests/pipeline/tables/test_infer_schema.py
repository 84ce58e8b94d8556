"""A schema that is inferred from values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from signalbox.pipeline.tables.infer_schema import MAX_INFERRED_COLUMNS, TooManyFieldsError, infer_ddl


def ddl(*values: Any) -> str | None:
    return infer_ddl([json.dumps(value).encode() for value in values])


@pytest.mark.spec("P4")
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([{"a": 1}, {"a": 2}], "`a` BIGINT"),
        ([{"a": 1}, {"a": 2.5}], "`a` DOUBLE"),
        ([{"a": 1}, {"a": "x"}], "`a` STRING"),
        ([{"a": True}, {"a": 1}], "`a` STRING"),
        ([{"a": None}], "`a` STRING"),
        ([{"a": None}, {"a": False}], "`a` BOOLEAN"),
        ([{"a": 2**64}], "`a` STRING"),
        ([{"a": [1, 2.5]}, {"a": []}], "`a` ARRAY<DOUBLE>"),
        ([{"a": {"b": 1}}, {"a": {"c": "x"}}], "`a` STRUCT<`b`: BIGINT, `c`: STRING>"),
        ([{"a": {"b": 1}}, {"a": 3}], "`a` STRING"),
        ([{"a": {}}], "`a` STRING"),
        ([{"a": {"bad name": 1}}], "`a` STRING"),
        ([{"a": 1, "A": 2, "b c": 3, "d": 4}], "`a` BIGINT, `d` BIGINT"),
        ([{"b": 1}, {"a": 1}], "`b` BIGINT, `a` BIGINT"),
    ],
)
def test_types_are_the_narrowest_that_hold_the_sample(values: list[Any], expected: str) -> None:
    assert ddl(*values) == expected


def test_what_is_no_object_is_passed_over() -> None:
    assert infer_ddl([None, b"\xff", b"{", b"[1]", b"3", b'{"a": 1}']) == "`a` BIGINT"
    assert infer_ddl([None, b"[1]"]) is None


@pytest.mark.spec("P4")
def test_an_object_with_very_many_fields_is_an_error_and_takes_no_time() -> None:
    assert ddl({f"f{number}": 1 for number in range(MAX_INFERRED_COLUMNS)}) is not None
    with pytest.raises(TooManyFieldsError, match=r"its sample has 100,000 fields at the top level, at most 2,000"):
        ddl({f"f{number}": 1 for number in range(100_000)})
