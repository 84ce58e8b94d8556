"""The bytes of a TLS handshake before OpenSSL gets them: complete records only, and a check that they are TLS.

OpenSSL gets no data until a record is complete, so a peer that sends a byte a second uses no thread. The first bytes
show whether a peer speaks TLS. If not, its protocol is named: in practice it is a client with the wrong
security.protocol, a browser, or the health check of a load balancer.
"""

from __future__ import annotations

from struct import Struct

from signalbox.common.limits import MAX_FRAME_SIZE_BYTES
from signalbox.protocol.api_table import API_TABLE

HANDSHAKE, ALERT = 22, 21
_TYPES = range(20, 24)
_MAJOR_VERSION = 3
_HEADER_BYTES = 5
_MAX_RECORD_BYTES = 16_384 + 2_048  # RFC 5246 6.2.3; TLS 1.3 allows less
_MAX_HANDSHAKE_BYTES = 1_048_576
_KAFKA_HEAD = Struct(">ihh")  # size, API key, version
_KAFKA_HEAD_BYTES = _KAFKA_HEAD.size
_OTHER_PROTOCOLS = {
    b"GET ": "HTTP",
    b"POST": "HTTP",
    b"HEAD": "HTTP",
    b"PUT ": "HTTP",
    b"OPTI": "HTTP",
    b"CONN": "HTTP",
    b"HTTP": "HTTP",
    b"PRI ": "HTTP/2",
    b"PROX": "the PROXY protocol",
    b"\r\n\r\n": "the PROXY protocol",
    b"SSH-": "SSH",
}


class NotTls(ValueError):
    """The peer sent something else than TLS; the text names it."""


class TlsRecords:
    """The bytes of a handshake that have arrived and do not form a complete record yet."""

    __slots__ = ("_arrived", "_total")

    def __init__(self) -> None:
        self._arrived = bytearray()
        self._total = 0

    def add(self, ciphertext: bytes | memoryview) -> None:
        self._arrived += ciphertext
        self._total += len(ciphertext)

    def take(self) -> bytes:
        """All complete records; b"" if there is none. NotTls, or ValueError for a handshake that does not end."""
        arrived, end = self._arrived, 0
        if self._total > _MAX_HANDSHAKE_BYTES:
            raise ValueError(f"the peer sent more than {_MAX_HANDSHAKE_BYTES} bytes without ending the handshake")
        while len(arrived) - end >= _HEADER_BYTES:
            size = int.from_bytes(arrived[end + 3 : end + 5])
            if arrived[end] not in _TYPES or arrived[end + 1] != _MAJOR_VERSION or size > _MAX_RECORD_BYTES:
                head = bytes(arrived[end : end + _KAFKA_HEAD_BYTES])
                raise NotTls(f"the peer sent {protocol_name(head)} where TLS is expected")
            if len(arrived) - end < _HEADER_BYTES + size:
                break
            end += _HEADER_BYTES + size
        return self._remove(end)

    def take_all(self) -> bytes:
        """All bytes, complete records or not: the handshake is over."""
        return self._remove(len(self._arrived))

    def _remove(self, end: int) -> bytes:
        records = bytes(self._arrived[:end])
        del self._arrived[:end]
        return records


def protocol_name(head: bytes) -> str:
    """The protocol that begins with these bytes, as far as it can be recognized."""
    if head[:4] in _OTHER_PROTOCOLS:
        return _OTHER_PROTOCOLS[head[:4]]
    if len(head) >= _KAFKA_HEAD_BYTES:
        size, key, version = _KAFKA_HEAD.unpack_from(head)
        api = API_TABLE.get(key)
        if api is not None and 4 <= size <= MAX_FRAME_SIZE_BYTES and 0 <= version <= api.max_version:
            return f"a plaintext Kafka request ({api.name})"
    return f"bytes that are not TLS ({head.hex(' ')})"


def is_tls(size: int) -> bool:
    """Whether these four bytes, read as the size of a frame, are the start of a TLS record."""
    return size >> 24 in (HANDSHAKE, ALERT) and size >> 16 & 0xFF == _MAJOR_VERSION
