r"""How `signalbox consume` prints a record: a format as kcat's `-f`, or a JSON object.

`%t` topic, `%p` partition, `%o` offset, `%k` key, `%s` value, `%h` headers, `%T` timestamp (ms), `%K` and `%S` the
sizes of key and value in bytes (-1 for null), `%%` a percent sign; `\n`, `\r`, `\t`, `\\` and `\xNN` as in C.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from signalbox.client.fetch_exchange import ConsumedRecord

DEFAULT_FORMAT = r"%s\n"

_TOKEN = re.compile(r"%(.)|\\x([0-9a-fA-F]{2})|\\(.)|([^%\\]+)|(.)", re.DOTALL)
_ESCAPES = {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\", "0": b"\0"}

Piece = Callable[["ConsumedRecord"], bytes]


def _length(content: bytes | None) -> bytes:
    return b"-1" if content is None else str(len(content)).encode()


def _headers(record: ConsumedRecord) -> bytes:
    return b",".join(
        name.encode() + b"=" + (b"NULL" if value is None else bytes(value)) for name, value in record.headers
    )


_FIELDS: dict[str, Piece] = {
    "t": lambda record: record.topic.encode(),
    "p": lambda record: str(record.partition).encode(),
    "o": lambda record: str(record.offset).encode(),
    "k": lambda record: bytes(record.key or b""),
    "s": lambda record: bytes(record.value or b""),
    "h": _headers,
    "T": lambda record: str(record.timestamp_ms).encode(),
    "K": lambda record: _length(record.key),
    "S": lambda record: _length(record.value),
}


def compile_format(text: str, null: bytes | None = None) -> Piece:
    """A function from a record to its bytes; `null` stands for a null key or value (default: nothing). ValueError names
    an unknown `%` field."""
    pieces: list[Piece] = []
    for match in _TOKEN.finditer(text):
        field, hexadecimal, escape, plain, other = match.groups()
        if field is not None and field != "%":
            pieces.append(_field(field, null))
        else:
            literal = (
                b"%" if field is not None
                else bytes.fromhex(hexadecimal) if hexadecimal is not None
                else _ESCAPES.get(escape, b"\\" + escape.encode()) if escape is not None
                else (plain or other).encode()
            )  # fmt: skip
            pieces.append(lambda _, literal=literal: literal)  # type: ignore[misc]
    return lambda record: b"".join([piece(record) for piece in pieces])


def _field(letter: str, null: bytes | None) -> Piece:
    if letter not in _FIELDS:
        raise ValueError(f"%{letter} is not a field of --format: expected %{', %'.join(_FIELDS)}")
    if null is not None and letter == "k":
        return lambda record: null if record.key is None else bytes(record.key)
    if null is not None and letter == "s":
        return lambda record: null if record.value is None else bytes(record.value)
    return _FIELDS[letter]


def record_as_json(record: ConsumedRecord) -> bytes:
    """One line. A key, value or header that is not UTF-8 is an object: `{"base64": "..."}`."""
    document = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        "key": _json_text(record.key),
        "value": _json_text(record.value),
        "headers": [[name, _json_text(value)] for name, value in record.headers],
    }
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"


def _json_text(content: bytes | None) -> Any:
    if content is None:
        return None
    try:
        return bytes(content).decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}
