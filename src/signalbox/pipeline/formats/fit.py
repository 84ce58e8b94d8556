"""Fits decoded values into the types of columns, or says at which field they do not fit.

A value is never changed silently: whole numbers must be in the range of the type, texts are no numbers, fractions are
no whole numbers. A STRING column takes anything: a string, a decimal, a date, a time or a UUID as its plain text, all
else as JSON text, so that a field whose kind a table cannot have (a union of several types, a message that contains
itself) keeps its content. A string that UTF-8 cannot have (half of a surrogate pair, which JSON can escape) does not
fit.
"""

from __future__ import annotations

import base64
import json
import math
import struct as packing
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal, InvalidOperation
from json.encoder import encode_basestring
from typing import Any
from uuid import UUID

from signalbox.pipeline.formats.schema_text import DecodeError, Field, JsonType

Fit = Callable[[Any], Any]

_WHOLE_BITS = {"byte": 7, "short": 15, "integer": 31, "long": 63}
# A column has up to 38 digits, and rounding up adds one; the context of the interpreter has 28.
_DECIMALS = Context(prec=39)


class _MisfitError(ValueError):
    """A value that does not fit; `path` grows on the way out. `kind`: the word of the reason."""

    def __init__(self, kind: str = "type", path: str = "") -> None:
        super().__init__()
        self.kind = kind
        self.path = path

    def below(self, name: str) -> _MisfitError:
        return _MisfitError(self.kind, f"{name}.{self.path}" if self.path else name)


def _json_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value)


_ENCODER = json.JSONEncoder(default=_json_value, ensure_ascii=False)


def json_text(value: Any) -> str:
    """A value as JSON text; bytes in base64, decimals as numbers with all their digits."""
    if isinstance(value, Mapping):
        members = []
        for name, inner in value.items():
            members.append(f"{encode_basestring(str(name))}: {json_text(inner)}")
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(json_text, value)) + "]"
    if isinstance(value, Decimal):
        return str(value)
    return _ENCODER.encode(value)


def _any_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal | UUID) else json_text(value)


def _text(value: Any) -> str:
    try:
        text = _any_text(value)
        if not text.isascii():
            text.encode()
    except (UnicodeEncodeError, RecursionError):
        raise _MisfitError from None
    return text


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _MisfitError
    return value


def _integer(bits: int) -> Fit:
    low, high = -(2**bits), 2**bits - 1

    def fit(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise _MisfitError
        return value

    return fit


def _double(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise _MisfitError
    try:
        number = float(value)
    except OverflowError:
        raise _MisfitError from None
    if isinstance(value, Decimal) and value.is_finite() and not math.isfinite(number):
        raise _MisfitError  # beyond the range of a double
    return number


def _float(value: Any) -> float:
    number = _double(value)
    if not math.isfinite(number):
        return number
    try:
        return float(packing.unpack("<f", packing.pack("<f", number))[0])
    except OverflowError:
        raise _MisfitError from None


def _decimal(column_type: str) -> Fit:
    precision, _, scale_text = column_type.partition("(")[2].rstrip(")").partition(",")
    unit, limit = Decimal((0, (1,), -int(scale_text or 0))), Decimal(10) ** (int(precision) - int(scale_text or 0))

    def fit(value: Any) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise _MisfitError
        number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        if not number.is_finite() or number.copy_abs() >= limit:
            raise _MisfitError
        try:
            scaled = number.quantize(unit, context=_DECIMALS)
        except InvalidOperation:
            raise _MisfitError from None
        if scaled != number:
            raise _MisfitError
        return scaled

    return fit


def _binary(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise _MisfitError
    return value


def _date(value: Any) -> date:
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise _MisfitError from None
    if isinstance(value, datetime) or not isinstance(value, date):
        raise _MisfitError
    return value


def _timestamp(value: Any) -> datetime:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise _MisfitError from None
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    raise _MisfitError


_SIMPLE: dict[str, Fit] = {
    "string": _text,
    "boolean": _boolean,
    "float": _float,
    "double": _double,
    "binary": _binary,
    "date": _date,
    "timestamp": _timestamp,
    **{name: _integer(bits) for name, bits in _WHOLE_BITS.items()},
}


def _nullable(fit: Fit) -> Fit:
    return lambda value: None if value is None else fit(value)


def _array(element: Fit) -> Fit:
    def fit(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise _MisfitError
        return [element(inner) for inner in value]

    return fit


def _map(key: Fit, content: Fit) -> Fit:
    def fit(value: Any) -> list[tuple[Any, Any]]:
        if not isinstance(value, Mapping):
            raise _MisfitError
        return [(key(name), content(inner)) for name, inner in value.items()]

    return fit


def _struct(fields: list[Field], strict: bool) -> Fit:
    fits = [(field["name"], _fit_of(field["type"], strict), field.get("nullable", True)) for field in fields]
    names = {name for name, _, _ in fits}

    def fit(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise _MisfitError
        if strict and not names.issuperset(value):
            raise _MisfitError("column", next(name for name in value if name not in names))
        row: dict[str, Any] = {}
        for name, inner, nullable in fits:
            content = value.get(name)
            if content is None:
                if not nullable:
                    raise _MisfitError("missing", name)
                row[name] = None
                continue
            try:
                row[name] = inner(content)
            except _MisfitError as error:
                raise error.below(name) from None
        return row

    return fit


def _fit_of(column_type: JsonType, strict: bool) -> Fit:
    if isinstance(column_type, str):
        if column_type.startswith("decimal"):
            return _nullable(_decimal(column_type if "(" in column_type else "decimal(10,0)"))
        if column_type not in _SIMPLE:
            raise DecodeError(f"a column of type {column_type} cannot be written")
        return _nullable(_SIMPLE[column_type])
    kind = column_type["type"]
    if kind == "array":
        return _nullable(_array(_fit_of(column_type["elementType"], strict)))
    if kind == "map":
        return _nullable(_map(_fit_of(column_type["keyType"], strict), _fit_of(column_type["valueType"], strict)))
    return _nullable(_struct(column_type["fields"], strict))


def row_fit(columns: tuple[Field, ...], strict: bool) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """A function from decoded fields to the row of these columns. It raises DecodeError with `type:<field>`,
    `missing:<field>` or, if `strict`, `column:<field>` for a field that the columns do not have.

    Maps become lists of pairs, as Arrow takes them.
    """
    fit = _struct(list(columns), strict)

    def row(value: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return dict(fit(value))
        except _MisfitError as error:
            raise DecodeError(f"{error.kind}:{error.path}") from None

    return row
