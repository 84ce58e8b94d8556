"""Reads the schema notation: a table that can be compared with Kafka's own definition.

    FetchRequest   api 1   versions 4-18   flexible 12+

    ClusterId            12+    string? = null     tag 0  ignorable
    ReplicaState         15+    ReplicaState       tag 1
      ReplicaId          15+    int32 = -1
    Topics               0+     []FetchTopic
      Topic              0-12   string             ignorable

One line per field: name, versions, type, then any of `= default`, `tag N`, `ignorable`. The fields of a struct are
indented below the first field of its type; a struct used in several places is written once under a line `struct Name`.
`?` after the type = nullable wherever the field exists, `?7+` = nullable in those versions. A field without a default
has its type's: 0, "", false, [], 16 zero bytes, a struct of defaults; records are null where they may be. A mistake in
a table is a `ValueError` at import.
"""

from __future__ import annotations

from typing import Any

from signalbox.common.ids import ZERO_UUID
from signalbox.protocol.schema import PRIMITIVES, FieldSpec, MessageSpec, StructSpec, VersionRange

_TYPE_DEFAULTS: dict[str, Any] = {
    "bool": False,
    "float64": 0.0,
    "uuid": ZERO_UUID,
    "string": "",
    "bytes": b"",
    "records": b"",
}


def parse_message(text: str) -> MessageSpec:
    """Read one table. Raises ValueError naming the line that is wrong."""
    lines = [line for line in text.splitlines() if line.strip()]
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    rows = [_Row(line[margin:]) for line in lines]
    heading = rows[0].words
    facts = dict(zip(heading[1::2], heading[2::2], strict=True))
    reader = _Reader(rows, 1)
    root = StructSpec(heading[0], reader.read_fields(0))
    while reader.at < len(rows):
        reader.read_shared_struct()
    reader.check_structs_known(root)
    return MessageSpec(
        name=heading[0],
        api_key=int(facts["api"]) if "api" in facts else None,
        versions=VersionRange.parse(facts["versions"]),
        flexible=VersionRange.parse(facts["flexible"]),
        root=root,
        structs=reader.structs,
    )


class _Row:
    __slots__ = ("depth", "line", "words")

    def __init__(self, line: str) -> None:
        self.line = line
        self.words = line.split()
        self.depth = (len(line) - len(line.lstrip())) // 2


class _Reader:
    """Walks the rows once, collecting structs by name."""

    def __init__(self, rows: list[_Row], at: int) -> None:
        self.rows = rows
        self.at = at
        self.structs: dict[str, StructSpec] = {}

    def read_fields(self, depth: int) -> tuple[FieldSpec, ...]:
        fields: list[FieldSpec] = []
        while self.at < len(self.rows):
            row = self.rows[self.at]
            if row.depth < depth or row.words[0] == "struct":
                break
            if row.depth > depth:
                self._read_nested(fields, row)
                continue
            self.at += 1
            fields.append(_parse_field(row))
        return tuple(fields)

    def _read_nested(self, fields: list[FieldSpec], row: _Row) -> None:
        if not fields or not fields[-1].is_struct:
            raise ValueError(f"indented below a field that is no struct: {row.line!r}")
        self._add(StructSpec(fields[-1].type_name, self.read_fields(row.depth)))

    def read_shared_struct(self) -> None:
        name = self.rows[self.at].words[1]
        self.at += 1
        self._add(StructSpec(name, self.read_fields(1)))

    def _add(self, struct: StructSpec) -> None:
        if struct.name in self.structs:
            raise ValueError(f"struct {struct.name} is described twice")
        self.structs[struct.name] = struct

    def check_structs_known(self, root: StructSpec) -> None:
        for struct in (root, *self.structs.values()):
            for spec in struct.fields:
                if spec.is_struct and spec.type_name not in self.structs:
                    raise ValueError(f"{root.name}: no struct {spec.type_name} for {spec.name}")


def _parse_field(row: _Row) -> FieldSpec:
    name, versions_text, type_text, *rest = row.words
    versions = VersionRange.parse(versions_text)
    type_text, question, nullable_text = type_text.partition("?")
    is_array = type_text.startswith("[]")
    type_name = type_text[2:] if is_array else type_text
    nullable = VersionRange.parse("none")
    if question:
        nullable = VersionRange.parse(nullable_text) if nullable_text else versions
    options: dict[str, Any] = {"ignorable": False, "tag": None}
    default_text: str | None = None
    words = iter(rest)
    for word in words:
        if word == "=":
            default_text = next(words)
        elif word == "tag":
            options["tag"] = int(next(words))
        elif word == "ignorable":
            options["ignorable"] = True
        else:
            raise ValueError(f"cannot read {word!r} in {row.line!r}")
    default = _default(type_name, is_array, default_text, bool(question))
    return FieldSpec(name, versions, type_name, is_array, nullable, default, **options)


def _default(type_name: str, is_array: bool, text: str | None, nullable: bool) -> Any:
    """The value of a field that is not set. Arrays: () means a new list; structs: () means a struct of defaults."""
    if text == "null":
        return None
    if is_array or type_name not in PRIMITIVES:
        return ()
    if type_name == "records" and nullable:
        return None
    if text is None:
        return _TYPE_DEFAULTS.get(type_name, 0)
    if type_name == "bool":
        return text == "true"
    return float(text) if type_name == "float64" else int(text, 0)
