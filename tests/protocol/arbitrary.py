"""Hypothesis strategies for any message at any version, derived from its layout.

`Values` defines the values of single fields; a subclass restricts them if another codec accepts less than the
wire format.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from signalbox.protocol.codec.layout import FieldLayout, StructLayout, layout_of
from signalbox.protocol.stubs import message_classes, message_modules

INTEGER_BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
UNSIGNED_BITS = {"uint16": 16, "uint32": 32}

ALL_MESSAGES: list[Any] = [made for name in message_modules() for made in message_classes(name)]
ALL_VERSIONS: list[tuple[Any, int]] = [
    (made, version) for made in ALL_MESSAGES for version in range(made.min_version, made.max_version + 1)
]


def version_id(pair: tuple[Any, int]) -> str:
    return f"{pair[0].__name__}-{pair[1]}"


class Values:
    """Any value that the wire format can carry. Long strings and arrays cross the one-byte length of KIP-482."""

    unknown_tags = True

    def integers(self, field: FieldLayout, lowest: int, highest: int) -> st.SearchStrategy[int]:
        return st.sampled_from((0, 1, -1 if lowest else 2, lowest, highest)) | st.integers(lowest, highest)

    def of(self, field: FieldLayout) -> st.SearchStrategy[Any]:
        name = field.type_name
        if name in INTEGER_BITS:
            return self.integers(field, -(1 << INTEGER_BITS[name]), (1 << INTEGER_BITS[name]) - 1)
        if name in UNSIGNED_BITS:
            return self.integers(field, 0, (1 << UNSIGNED_BITS[name]) - 1)
        if name == "string":
            return st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(("x" * 126, "x" * 127, "é" * 90))
        if name in ("bytes", "records"):
            return st.binary(max_size=6) | st.sampled_from((bytes(126), bytes(127), bytes(300)))
        return _PLAIN[name]


_PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "uuid": st.binary(min_size=16, max_size=16),
}

ANY_VALUES = Values()


@cache
def messages(made: Any, version: int, values: Values = ANY_VALUES) -> st.SearchStrategy[Any]:
    """Instances of the class `made` that can be written at `version`."""
    return _structs(layout_of(made.schema, version), made.codec.classes, values)


def _structs(layout: StructLayout, classes: dict[str, Any], values: Values) -> st.SearchStrategy[Any]:
    fields = {field.attribute: _field(field, classes, values) for field in layout.fields}
    for field in layout.tagged:
        default = classes[layout.name]._defaults[field.attribute]
        unset = st.builds(list) if default == () else st.just(default)
        fields[field.attribute] = unset | _field(field, classes, values)
    if layout.flexible and values.unknown_tags:
        tags = st.dictionaries(st.sampled_from((99, 128, 40000)), st.binary(max_size=4), min_size=1, max_size=2)
        fields["unknown_tags"] = st.none() | st.none() | tags
    return st.builds(classes[layout.name], **fields)


def _field(field: FieldLayout, classes: dict[str, Any], values: Values) -> st.SearchStrategy[Any]:
    one = _structs(field.struct, classes, values) if field.struct is not None else values.of(field)
    if field.is_array:
        one = st.lists(one, max_size=3)
        if field.struct is None and field.type_name in INTEGER_BITS:
            one = one | st.sampled_from((126, 127, 200)).map(lambda size: [7] * size)
    return st.none() | one if field.nullable else one
