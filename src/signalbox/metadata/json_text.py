"""JSON as entries hold it: compact, an object at the top, errors that name the entry."""

from __future__ import annotations

import json
from typing import Any


class BadEntry(ValueError):
    """An entry whose payload is not what its key promises. The text names the entry and what is wrong."""


def encode_json(value: dict[str, Any]) -> bytes:
    """Compact JSON as UTF-8."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def decode_json(data: bytes | None, entry: str) -> dict[str, Any]:
    """The object in `data`; BadEntry when it is none."""
    try:
        value = json.loads(data or b"")
    except ValueError as error:
        raise BadEntry(f"{entry} holds no JSON: {error}") from error
    if not isinstance(value, dict):
        raise BadEntry(f"{entry} holds {type(value).__name__} where an object is expected")
    return value
