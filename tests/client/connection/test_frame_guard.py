from __future__ import annotations

import pytest

from signalbox.client.connection.frame_guard import frame_length


def test_a_believable_length() -> None:
    assert frame_length(b"\0\0\0\x04", 100) == 4
    assert frame_length(bytearray(b"\0\0\0\x64"), 100) == 100


@pytest.mark.parametrize(
    ("prefix", "problem"),
    [
        (b"\0\0\0\x65", "101 bytes is more than the 100"),
        (b"\0\0\0\x03", "cannot hold"),
        (b"\xff\xff\xff\xff", "cannot hold"),
        (b"\x15\x03\x03\x00", "uses TLS"),
        (b"\x16\x03\x01\x02", "uses TLS"),
        (b"HTTP", "uses HTTP"),
    ],
)
def test_an_implausible_frame_length_names_the_likely_peer(prefix: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        frame_length(prefix, 100)
