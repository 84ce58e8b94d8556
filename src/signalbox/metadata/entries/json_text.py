"""JSON of entries: compact, an object at the top level, errors that name the entry."""

from __future__ import annotations

import json
import math
import re
from typing import Any

MAX_NUMBER = 2**31 - 1  # ids, epochs and partition indexes have 32 bits on the wire


class BadEntry(ValueError):
    """The payload of an entry is not valid for its path. The text names the entry and the fault."""


def encode_json(value: dict[str, Any]) -> bytes:
    """Compact JSON as UTF-8."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def decode_json(data: bytes | None, entry: str) -> dict[str, Any]:
    """The JSON object in `data`; BadEntry when it is not one, or holds a value that no response can carry: a number
    beyond 64 bits, half a surrogate pair."""
    try:
        text = (data or b"").decode()
        value = _DECODER.decode(text)
        if _MAY_BE_HALF_A_PAIR.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise BadEntry(f"{entry} holds no JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadEntry(f"{entry} holds {type(value).__name__} where an object is expected")
    return value


def whole_number(value: object, least: int = 0) -> int:
    """`value` if it is an integer of 32 bits, at least `least`; ValueError for all else, text and booleans included."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MAX_NUMBER:
        raise ValueError(f"{str(value)[:30]!r} is no whole number from {least} to {MAX_NUMBER}")
    return value


def _integer(text: str) -> int:
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"{text[:30]} is beyond 64 bits")
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:30]} is no finite number")
    return number


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_finite, parse_constant=_finite)
_MAY_BE_HALF_A_PAIR = re.compile(r"\\u[dD]")
