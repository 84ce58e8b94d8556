"""Variable-length integers: unsigned (KIP-482 lengths and tags) and zigzag (inside record batches)."""

from __future__ import annotations

from signalbox.protocol.codec_errors import DecodeError

_SMALL = tuple(bytes((value,)) for value in range(128))


def uvarint(value: int) -> bytes:
    """Base 128, least significant group first; a length takes at most 5 bytes."""
    if value < 128:
        return _SMALL[value]
    if value < 16_384:  # two and three bytes: the lengths of records in responses
        return bytes((value & 127 | 128, value >> 7))
    if value < 2_097_152:
        return bytes((value & 127 | 128, value >> 7 & 127 | 128, value >> 14))
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_uvarint(buffer: bytes | bytearray | memoryview, offset: int) -> tuple[int, int]:
    """The value at `offset` and the offset behind it. Rejects more than 5 bytes or 32 bits, as Kafka does."""
    value = 0
    try:
        for shift in (0, 7, 14, 21, 28):
            byte = buffer[offset]
            offset += 1
            value |= (byte & 127) << shift
            if byte < 128:
                if value > 0xFFFFFFFF:
                    break
                return value, offset
    except IndexError:
        raise DecodeError("the buffer ends inside a variable-length integer") from None
    raise DecodeError("a variable-length integer of more than 32 bits")


def zigzag_varint(value: int) -> bytes:
    """Signed, small magnitudes short: used by record fields."""
    return uvarint(value << 1 if value >= 0 else (-value << 1) - 1)


def read_zigzag_varint(buffer: bytes | bytearray | memoryview, offset: int) -> tuple[int, int]:
    """The signed value at `offset` (up to 64 bits) and the offset behind it."""
    value = 0
    shift = 0
    try:
        while shift < 70:
            byte = buffer[offset]
            offset += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return (value >> 1) ^ -(value & 1), offset
            shift += 7
    except IndexError:
        raise DecodeError("the buffer ends inside a variable-length integer") from None
    raise DecodeError("a variable-length integer of more than 64 bits")
