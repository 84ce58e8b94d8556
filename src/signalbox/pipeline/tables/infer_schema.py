"""A schema from a sample of JSON values, as a person would declare it after reading them.

Types widen only where the sample requires it: whole numbers are BIGINT until a fraction occurs, then DOUBLE; values
that disagree become STRING, which holds anything. Texts stay texts: a date in a string is left to the reader.
Names that a Delta table does not allow are changed at the top level and turn a nested object into its text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_UNFIT = re.compile(r"[ ,;{}()\n\t=`.]")
MAX_INFERRED_COLUMNS = 2_000
_BIGINT = range(-(2**63), 2**63)


@dataclass(slots=True)
class Shape:
    """Types seen at one place in the values: scalar kinds, an element shape, field shapes. Empty = only nulls."""

    scalars: set[str] = field(default_factory=set)
    element: Shape | None = None
    fields: dict[str, Shape] | None = None

    def see(self, value: Any) -> None:
        """Adds one more value."""
        if isinstance(value, Mapping):
            self.fields = self.fields if self.fields is not None else {}
            for name, inner in value.items():
                self.fields.setdefault(name, Shape()).see(inner)
        elif isinstance(value, list):
            self.element = self.element or Shape()
            for inner in value:
                self.element.see(inner)
        elif value is not None:
            self.scalars.add(_scalar(value))

    def ddl(self) -> str:
        """The narrowest type that holds everything seen."""
        kinds = [bool(self.scalars), self.element is not None, self.fields is not None]
        if sum(kinds) != 1:
            return "STRING"
        if self.element is not None:
            return f"ARRAY<{self.element.ddl()}>"
        if self.fields is not None:
            return _struct(self.fields)
        if len(self.scalars) == 1:
            return next(iter(self.scalars))
        return "DOUBLE" if self.scalars <= {"BIGINT", "DOUBLE"} else "STRING"


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, int):
        return "BIGINT" if value in _BIGINT else "STRING"
    return "DOUBLE" if isinstance(value, float) else "STRING"


def _struct(fields: Mapping[str, Shape]) -> str:
    names = {name.lower() for name in fields}
    if not fields or len(names) < len(fields) or any(_UNFIT.search(name) or not name for name in fields):
        return "STRING"
    return "STRUCT<" + ", ".join(f"`{name}`: {shape.ddl()}" for name, shape in fields.items()) + ">"


class TooManyFieldsError(ValueError):
    """A sample with more fields than a table should have."""


def infer_ddl(values: Iterable[bytes | None]) -> str | None:
    """The fields of the JSON objects among `values` as DDL, in the order seen; None when there is no object.

    Values that are not JSON objects are skipped: they will be dead records. Of fields whose names differ only in
    case the first counts; fields with invalid names are left in the raw value. Raises TooManyFieldsError.
    """
    root_shape = Shape(fields={})
    for value in values:
        if value is None:
            continue
        try:
            content = json.loads(value)
        except (ValueError, RecursionError):
            continue
        if isinstance(content, Mapping):
            root_shape.see(content)
    if len(root_shape.fields or {}) > MAX_INFERRED_COLUMNS:
        raise TooManyFieldsError(
            f"its sample has {len(root_shape.fields or {}):,} fields at the top level, at most "
            f"{MAX_INFERRED_COLUMNS:,} become columns: declare those that are needed"
        )
    columns: dict[str, str] = {}
    names: set[str] = set()
    for name, shape in (root_shape.fields or {}).items():
        if name and not _UNFIT.search(name) and name.lower() not in names:
            names.add(name.lower())
            columns[name] = shape.ddl()
    return ", ".join(f"`{name}` {ddl}" for name, ddl in columns.items()) or None
