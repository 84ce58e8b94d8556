"""Strings of the wire as Java reads them: bytes that are not UTF-8 become U+FFFD, and the connection stays open.

Kafka decodes with `new String(bytes, UTF_8)`, which never fails. Python's own "replace" inserts as many U+FFFD as Java,
except for surrogates that were encoded one by one (ED A0 80 to ED BF BF): Java replaces such a sequence as a whole.
`bytes.decode("utf-8", LENIENT)` calls the error handler only for malformed text, so valid text has no extra cost.

A replacement character has three bytes. If a malformed string could become too long for a string of the wire, no
response could contain it; that is a DecodeError (Kafka closes the connection when it writes the response).
"""

from __future__ import annotations

import codecs
import re

from signalbox.protocol.codec.wire_formats import LONGEST_STRING_BYTES
from signalbox.protocol.codec_errors import DecodeError

LENIENT = "signalbox.lenient_utf8"
"""Name of the codec error handler."""

_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_BYTES_OF_A_REPLACEMENT = 3


def decode_utf8(data: bytes | memoryview) -> str:
    """The text of any bytes; DecodeError for long ones that are not UTF-8."""
    return str(data, "utf-8", LENIENT)


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Replaces the whole rest from the first malformed byte on."""
    assert isinstance(error, UnicodeDecodeError)
    data = error.object
    if len(data) * _BYTES_OF_A_REPLACEMENT > LONGEST_STRING_BYTES:
        raise DecodeError(f"a string of {len(data)} bytes that is not UTF-8")
    return _SURROGATE.sub(b"\xff", data[error.start :]).decode("utf-8", "replace"), len(data)


codecs.register_error(LENIENT, _replace)
