"""The five codecs a batch may use: none, gzip, snappy, lz4, zstd.

Java writes snappy in xerial's framing (a magic, then blocks each with its length) and other clients follow;
blocks without framing are read too. lz4 is the frame format. Decompression is capped: a few bytes that claim
to be gigabytes are refused with CORRUPT_MESSAGE before the memory is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct, error
from typing import Any

import cramjam

from signalbox.common.limits import MAX_DECOMPRESSED_BATCH_BYTES
from signalbox.protocol.error_table import Error, KafkaError

NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
CODES = {name: code for code, name in enumerate(NAMES)}

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_XERIAL_BLOCK_BYTES = 32 * 1024
_BLOCK_LENGTH = Struct(">i")
_FIRST_GUESS_BYTES = 64 * 1024


class UnpacksTooLarge(KafkaError):
    """CORRUPT_MESSAGE for readers; who admits batches says MESSAGE_TOO_LARGE instead, so that clients split them."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(Error.CORRUPT_MESSAGE, f"decompressed records exceed {limit_bytes} bytes")


def compression_name(code: int) -> str:
    """The name for the low three bits of a batch's attributes. Raises KafkaError for 5 to 7."""
    if code >= len(NAMES):
        raise KafkaError(Error.CORRUPT_MESSAGE, f"compression {code} does not exist")
    return NAMES[code]


def compress(name: str, payload: bytes) -> bytes:
    """`payload` as the codec writes it."""
    return _COMPRESSORS[name](payload)


def decompress(name: str, payload: bytes | memoryview, limit_bytes: int = MAX_DECOMPRESSED_BATCH_BYTES) -> bytes:
    """What was compressed. Raises KafkaError CORRUPT_MESSAGE when it is damaged, `UnpacksTooLarge` beyond the limit."""
    if name == "none":
        return bytes(payload)
    try:
        return _DECOMPRESSORS[name](bytes(payload), limit_bytes)
    except (cramjam.DecompressionError, error, IndexError) as problem:
        raise KafkaError(Error.CORRUPT_MESSAGE, f"{name} payload cannot be read: {problem}") from None


def _snappy_compress(payload: bytes) -> bytes:
    out = bytearray(_XERIAL_HEADER)
    for start in range(0, len(payload), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(payload[start : start + _XERIAL_BLOCK_BYTES]))
        out += _BLOCK_LENGTH.pack(len(block))
        out += block
    return bytes(out)


def _snappy_decompress(payload: bytes, limit_bytes: int) -> bytes:
    if not payload.startswith(_XERIAL_MAGIC):
        return _snappy_block(payload, limit_bytes)
    out = bytearray()
    position = len(_XERIAL_HEADER)
    while position < len(payload):
        size = _BLOCK_LENGTH.unpack_from(payload, position)[0]
        position += 4
        if size < 0 or size > len(payload) - position:
            raise KafkaError(Error.CORRUPT_MESSAGE, f"a snappy block of {size} bytes runs over the end")
        out += _snappy_block(payload[position : position + size], limit_bytes - len(out))
        position += size
    return bytes(out)


def _snappy_block(block: bytes, limit_bytes: int) -> bytes:
    claimed = cramjam.snappy.decompress_raw_len(block)
    _check_limit(claimed, limit_bytes)
    return bytes(cramjam.snappy.decompress_raw(block))


def _check_limit(size: int, limit_bytes: int) -> None:
    if size > limit_bytes:
        raise UnpacksTooLarge(limit_bytes)


def _lz4_compress(payload: bytes) -> bytes:
    """Blocks must not refer to each other: Java's reader refuses linked ones."""
    compressor = cramjam.lz4.Compressor(content_checksum=False, block_linked=False)
    compressor.compress(payload)
    return bytes(compressor.finish())


def _growing(decompress_into: Callable[[Any, Any], int]) -> Callable[[bytes, int], bytes]:
    """A decompressor that is given ever larger buffers, never one above the limit: a frame's own word about
    its size is not trusted.
    """

    def read(payload: bytes, limit_bytes: int) -> bytes:
        room = min(limit_bytes, max(_FIRST_GUESS_BYTES, 4 * len(payload)))
        while True:
            out = bytearray(room)
            try:
                return bytes(memoryview(out)[: decompress_into(payload, out)])
            except cramjam.DecompressionError as problem:
                if "write whole buffer" not in str(problem):
                    raise
                _check_limit(room + (room == limit_bytes), limit_bytes)
                room = min(limit_bytes, room * 4)

    return read


_COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": lambda payload: bytes(cramjam.gzip.compress(payload)),
    "snappy": _snappy_compress,
    "lz4": _lz4_compress,
    "zstd": lambda payload: bytes(cramjam.zstd.compress(payload)),
}

_DECOMPRESSORS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _growing(cramjam.gzip.decompress_into),
    "snappy": _snappy_decompress,
    "lz4": _growing(cramjam.lz4.decompress_into),
    "zstd": _growing(cramjam.zstd.decompress_into),
}
