"""Bytes that are not UTF-8 decode as with Java's `new String(bytes, UTF_8)`: expected is the output of Java 17."""

from __future__ import annotations

import pytest

from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.lenient_utf8 import decode_utf8


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("", ""),
        ("63 61 66 c3 a9", "café"),
        ("f0 9f 98 80", "\U0001f600"),
        ("4d fc 6c 6c 65 72", "M\ufffdller"),  # Latin-1
        ("63 61 66 e9", "caf\ufffd"),
        ("c0 80", "\ufffd\ufffd"),  # an overlong NUL
        ("e2 82", "\ufffd"),  # truncated
        ("e2 82 41", "\ufffdA"),
        ("f4 90 80 80", "\ufffd\ufffd\ufffd\ufffd"),  # above U+10FFFF
        ("ed a0 80", "\ufffd"),  # a surrogate is replaced as a whole
        ("ed a0 80 ed b0 80", "\ufffd\ufffd"),
        ("ed a0", "\ufffd"),
        ("ed a0 41", "\ufffdA"),
        ("41 ed bf c2", "A\ufffd\ufffd"),
        ("ed 9f bf", "\ud7ff"),
        ("ed 41", "\ufffdA"),
        ("ff fe", "\ufffd\ufffd"),
    ],
)
@pytest.mark.spec("D1")
def test_invalid_utf8_is_decoded_as_by_java(data: str, text: str) -> None:
    raw = bytes.fromhex(data)
    assert decode_utf8(raw) == text
    assert decode_utf8(memoryview(raw)) == text


@pytest.mark.spec("D1")
def test_strings_that_no_response_can_contain_are_rejected() -> None:
    """A replacement character has three bytes: the decoded text must still fit into a string of the protocol."""
    longest = decode_utf8(b"\xff" * 10_922)
    assert len(longest.encode()) <= 32_767
    with pytest.raises(DecodeError, match="10923 bytes that is not UTF-8"):
        decode_utf8(b"\xff" * 10_923)
    assert decode_utf8(b"x" * 32_767) == "x" * 32_767
