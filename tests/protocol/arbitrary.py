"""Arbitrary messages of any class at any version, derived from its layout.

`Values` defines the values of single fields; a subclass restricts them if another codec accepts less than the
wire format. Values are drawn from a `Random`: Hypothesis takes ten times longer to draw a message than the codecs take
to write and to read it. A message depends only on its class, its version and its number: a failure repeats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeAlias

from signalbox.protocol.codec.layout import FieldLayout, StructLayout, layout_of
from signalbox.protocol.stubs import message_classes, message_modules

Draw: TypeAlias = Callable[[Random], Any]

EXAMPLES = 16
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

    def integers(self, field: FieldLayout, lowest: int, highest: int) -> Draw:
        return one_of(choice(0, 1, -1 if lowest else 2, lowest, highest), integer(lowest, highest))

    def of(self, field: FieldLayout) -> Draw:
        name = field.type_name
        if name in INTEGER_BITS:
            return self.integers(field, -(1 << INTEGER_BITS[name]), (1 << INTEGER_BITS[name]) - 1)
        if name in UNSIGNED_BITS:
            return self.integers(field, 0, (1 << UNSIGNED_BITS[name]) - 1)
        return _PLAIN[name]


def choice(*values: Any) -> Draw:
    return lambda random: random.choice(values)


def integer(lowest: int, highest: int) -> Draw:
    return lambda random: random.randint(lowest, highest)


def one_of(*draws: Draw) -> Draw:
    return lambda random: random.choice(draws)(random)


def list_of(draw: Draw, max_size: int) -> Draw:
    return lambda random: [draw(random) for _ in range(random.randint(0, max_size))]


def _code_point(random: Random) -> str:
    """A character of one to four bytes in UTF-8; no surrogate."""
    lowest, highest = random.choice(((0, 0x7F), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)))
    return chr(random.randint(lowest, highest))


def _short_text(random: Random) -> str:
    return "".join(_code_point(random) for _ in range(random.randint(0, 6)))


def _short_bytes(random: Random) -> bytes:
    return random.randbytes(random.randint(0, 6))


_BYTES = one_of(_short_bytes, choice(bytes(126), bytes(127), bytes(300)))
_PLAIN: dict[str, Draw] = {
    "bool": choice(False, True),
    "float64": one_of(choice(0.0, -1.5, 5e-324, -1.7976931348623157e308), lambda random: random.uniform(-1e9, 1e9)),
    "uuid": lambda random: random.randbytes(16),
    "string": one_of(_short_text, choice("x" * 126, "x" * 127, "é" * 90)),
    "bytes": _BYTES,
    "records": _BYTES,
}

ANY_VALUES = Values()


def messages(made: Any, version: int, values: Values = ANY_VALUES) -> Iterator[tuple[Any, Random]]:
    """`EXAMPLES` instances of the class `made` that can be written at `version`, each with a `Random` for what else the
    test draws."""
    draw = _structs(layout_of(made.schema, version), made.codec.classes, values)
    for number in range(EXAMPLES):
        random = Random(f"{version_id((made, version))}-{number}")
        yield draw(random), random


def _structs(layout: StructLayout, classes: dict[str, Any], values: Values) -> Draw:
    made = classes[layout.name]
    fields = {field.attribute: _field(field, classes, values) for field in layout.fields}
    for field in layout.tagged:
        fields[field.attribute] = one_of(_unset(made, field), _field(field, classes, values))
    if layout.flexible and values.unknown_tags:
        fields["unknown_tags"] = one_of(choice(None), choice(None), _unknown_tags)
    return lambda random: made(**{attribute: draw(random) for attribute, draw in fields.items()})


def _unset(made: Any, field: FieldLayout) -> Draw:
    default = made._defaults[field.attribute]
    return lambda random: [] if default == () else default


def _unknown_tags(random: Random) -> dict[int, bytes]:
    tags = random.sample((99, 128, 40000), random.randint(1, 2))
    return {tag: random.randbytes(random.randint(0, 4)) for tag in tags}


def _field(field: FieldLayout, classes: dict[str, Any], values: Values) -> Draw:
    one = _structs(field.struct, classes, values) if field.struct is not None else values.of(field)
    if field.is_array:
        some = list_of(one, max_size=3)
        integers = field.struct is None and field.type_name in INTEGER_BITS
        one = one_of(some, lambda random: [7] * random.choice((126, 127, 200))) if integers else some
    return one_of(choice(None), one, one) if field.nullable else one
