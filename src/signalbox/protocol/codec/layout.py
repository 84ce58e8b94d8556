"""One version of a message: its fields in wire order, and the fields that it lacks.

Both codecs (compiled and interpreted) read layouts, never schemas, so that the rules of versions are in this one place.
Two versions with equal layouts have the same bytes and share one compiled function.
"""

from __future__ import annotations

from dataclasses import dataclass

from signalbox.protocol.schema import FieldSpec, MessageSpec, StructSpec

FIXED_SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}


@dataclass(frozen=True, slots=True)
class FieldLayout:
    """A field at one version. `struct` is set for structs and arrays of structs."""

    spec: FieldSpec
    attribute: str
    type_name: str
    is_array: bool
    nullable: bool
    struct: StructLayout | None

    @property
    def fixed_size(self) -> int:
        """Bytes on the wire if their number is constant, else 0."""
        return 0 if self.is_array else FIXED_SIZES.get(self.type_name, 0)


@dataclass(frozen=True, slots=True)
class StructLayout:
    """`fields` in wire order, `tagged` by ascending tag, `absent` = the fields this version lacks."""

    name: str
    flexible: bool
    fields: tuple[FieldLayout, ...]
    tagged: tuple[FieldLayout, ...]
    absent: tuple[FieldSpec, ...]

    @property
    def least_size(self) -> int:
        """Fewest bytes of an instance; limits the count that an array may have."""
        return sum(_least_field_size(field, self.flexible) for field in self.fields) + self.flexible


def layout_of(message: MessageSpec, version: int) -> StructLayout:
    """The layout of `message` at `version`. Raises ValueError for a version outside the schema."""
    if version not in message.versions:
        raise ValueError(f"{message.name} has no version {version}: {message.versions} exist")
    return _struct_layout(message, message.root, version)


def _struct_layout(message: MessageSpec, struct: StructSpec, version: int) -> StructLayout:
    flexible = version in message.flexible
    plain: list[FieldLayout] = []
    tagged: list[FieldLayout] = []
    absent: list[FieldSpec] = []
    for spec in struct.fields:
        if version not in spec.versions:
            absent.append(spec)
            continue
        inner = _struct_layout(message, message.structs[spec.type_name], version) if spec.is_struct else None
        field = FieldLayout(spec, spec.attribute, spec.type_name, spec.is_array, version in spec.nullable, inner)
        (plain if spec.tag is None else tagged).append(field)
    tagged.sort(key=lambda field: field.spec.tag or 0)
    return StructLayout(struct.name, flexible, tuple(plain), tuple(tagged), tuple(absent))


def _least_field_size(field: FieldLayout, flexible: bool) -> int:
    if field.fixed_size:
        return field.fixed_size
    if flexible:
        return 1
    if field.is_array or field.type_name in ("bytes", "records"):
        return 4
    return 2 if field.type_name == "string" else 1
