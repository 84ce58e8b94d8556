"""Strings of the wire as Java reads them: bytes that are not UTF-8 become U+FFFD, and the connection stays open.

Kafka decodes with `new String(bytes, UTF_8)`, which never fails. Python's own "replace" inserts as many U+FFFD as Java,
except for surrogates that were encoded one by one (ED A0 80 to ED BF BF): Java replaces such a sequence as a whole.
`bytes.decode("utf-8", LENIENT)` calls the error handler only for malformed text, so valid text has no extra cost.

A replacement character has three bytes, so the text may be too long to be written. That is an error of the message that
would contain it, as in Kafka: a response (UNKNOWN_SERVER_ERROR, or the connection is closed), a record of a group (the
write fails), or changed metadata (the router rejects the request).
"""

from __future__ import annotations

import codecs
import re

LENIENT = "signalbox.lenient_utf8"
"""Name of the codec error handler."""

_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")

LONGEST_SURELY_WRITABLE_BYTES = 32_767 // 3
"""A malformed string of this length can be written again, even if each of its bytes becomes a U+FFFD."""


def decode_utf8(data: bytes | memoryview) -> str:
    """The text of any bytes."""
    return str(data, "utf-8", LENIENT)


def malformed_texts() -> int:
    """The number of texts of this process that were not UTF-8: equal before and after a decoding without one."""
    return _Malformed.count


class _Malformed:
    count = 0


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Replaces the whole rest from the first malformed byte on."""
    assert isinstance(error, UnicodeDecodeError)
    _Malformed.count += 1
    data = error.object
    return _SURROGATE.sub(b"\xff", data[error.start :]).decode("utf-8", "replace"), len(data)


codecs.register_error(LENIENT, _replace)
