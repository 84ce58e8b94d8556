"""The elements of a message schema: message, struct, field, type, range of versions.

A schema gives for every field the versions in which it exists, whether it may be null, its default, and whether it is a
tagged field (KIP-482). It does not describe bytes: `layout` selects the fields of one version, the codecs turn them
into bytes. The notation is read by `schema_text`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

NEWEST = 32767

PRIMITIVES = frozenset(
    ("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "uuid", "string", "bytes", "records")
)


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Versions `lowest` to `highest`, both included; empty when lowest > highest."""

    lowest: int
    highest: int

    @staticmethod
    def parse(text: str) -> VersionRange:
        """Read `3`, `0-7`, `4+` or `none`."""
        if text == "none":
            return VersionRange(NEWEST, -1)
        if text.endswith("+"):
            return VersionRange(int(text[:-1]), NEWEST)
        lowest, dash, highest = text.partition("-")
        return VersionRange(int(lowest), int(highest if dash else lowest))

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    def __str__(self) -> str:
        if self.lowest > self.highest:
            return "none"
        if self.highest == NEWEST:
            return f"{self.lowest}+"
        return f"{self.lowest}" if self.lowest == self.highest else f"{self.lowest}-{self.highest}"


NO_VERSIONS = VersionRange.parse("none")


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field over all versions. `type_name` is a primitive or the name of a struct of the message."""

    name: str
    versions: VersionRange
    type_name: str
    is_array: bool = False
    nullable: VersionRange = NO_VERSIONS
    default: Any = None
    tag: int | None = None
    ignorable: bool = False

    @property
    def attribute(self) -> str:
        return snake_case(self.name)

    @property
    def is_struct(self) -> bool:
        return self.type_name not in PRIMITIVES


@dataclass(frozen=True, slots=True)
class StructSpec:
    name: str
    fields: tuple[FieldSpec, ...]


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """A message: its own fields, and by name every struct inside it."""

    name: str
    api_key: int | None
    versions: VersionRange
    flexible: VersionRange
    root: StructSpec
    structs: dict[str, StructSpec] = field(default_factory=dict)


_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@cache
def snake_case(name: str) -> str:
    """The Python name of a Kafka field: TopicId -> topic_id, isKRaftController -> is_kraft_controller."""
    return _WORD_START.sub("_", name.replace("KRaft", "Kraft")).lower()
