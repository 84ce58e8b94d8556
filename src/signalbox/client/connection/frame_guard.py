"""Checks the length of a frame. The first bytes show a peer that is not a Kafka broker.

A TLS alert read as a length is 350 MB and has crashed clients (misroute story 8); so the first length has a tight limit
and a TLS record is recognized by its first two bytes.
"""

from __future__ import annotations

_TLS_RECORD_TYPES = (0x15, 0x16)  # alert, handshake
_TLS_MAJOR_VERSION = 0x03


def frame_length(prefix: bytes | bytearray | memoryview, max_bytes: int) -> int:
    """The length in the 4 bytes of `prefix`; ValueError names the problem."""
    if prefix[0] in _TLS_RECORD_TYPES and prefix[1] == _TLS_MAJOR_VERSION:
        raise ValueError("the peer uses TLS on this port and this client does not: check security.protocol")
    if bytes(prefix[:4]) == b"HTTP":
        raise ValueError("the peer uses HTTP: this is not a Kafka port")
    length = int.from_bytes(prefix[:4], "big", signed=True)
    if length < 4:
        raise ValueError(f"a frame of {length} bytes cannot hold a response")
    if length > max_bytes:
        raise ValueError(f"a frame of {length} bytes is more than the {max_bytes} allowed here")
    return length
