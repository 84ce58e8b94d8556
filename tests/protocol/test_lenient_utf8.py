"""Bytes that are not UTF-8 decode as with Java's `new String(bytes, UTF_8)`: expected is the output of Java 17."""

from __future__ import annotations

import pytest

from signalbox.protocol.codec_errors import StringTooLong
from signalbox.protocol.headers import decode_request_header, encode_request_header
from signalbox.protocol.lenient_utf8 import LONGEST_SURELY_WRITABLE_BYTES, decode_utf8, malformed_texts
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest
from signalbox.protocol.messages.heartbeat import HeartbeatRequest


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
def test_long_strings_are_decoded_and_may_be_too_long_to_be_written() -> None:
    """A replacement character has three bytes: only the message that would contain the text is an error."""
    heartbeat = HeartbeatRequest(group_id="g", member_id="m").encode(0)
    malformed = b"\xff" * LONGEST_SURELY_WRITABLE_BYTES
    for size in (len(malformed), len(malformed) + 1, 32_767):
        body = size.to_bytes(2) + b"\xff" * size + heartbeat[3:]
        assert HeartbeatRequest.decode(body, 0).group_id == "\ufffd" * size
    assert len(FindCoordinatorRequest(key=decode_utf8(malformed)).encode(0)) == 2 + 3 * len(malformed)
    for version in (0, 3):  # not flexible, flexible
        with pytest.raises(StringTooLong, match="32769 bytes, 32767 are allowed"):
            FindCoordinatorRequest(key=decode_utf8(malformed + b"\xff")).encode(version)
    assert decode_utf8(b"x" * 32_767) == "x" * 32_767


@pytest.mark.spec("D1")
def test_a_client_id_of_any_bytes_is_decoded() -> None:
    frame = b"\0\x03\0\x04\0\0\0\x07" + (32_767).to_bytes(2) + b"\xe9" * 32_767 + b"body"
    header, offset = decode_request_header(frame)
    assert (header.client_id, frame[offset:]) == ("\ufffd" * 32_767, b"body")
    with pytest.raises(StringTooLong):
        encode_request_header(*header)


def test_malformed_texts_are_counted() -> None:
    before = malformed_texts()
    decode_utf8("naïve".encode())
    assert malformed_texts() == before
    decode_utf8(b"\xff\xff and \xed\xa0\x80")
    assert malformed_texts() == before + 1
