"""The five codecs of batches: none, gzip, snappy, lz4, zstd.

Java writes snappy in xerial's framing (a magic, then blocks each with its length) and other clients do the same; blocks
without framing are read too. lz4 is the frame format. Decompression is limited: a few bytes that claim to be gigabytes
are rejected with CORRUPT_MESSAGE before the memory is allocated. `unpack` is for large data, in a thread: the codecs
release the GIL, and `unpack` does not clear, copy or free memory while it holds the GIL.
"""

from __future__ import annotations

import mmap
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
_PIECE_BYTES = 1024 * 1024
_KAFKA_LZ4_DEFAULT_LEVEL = 9
_GZIP_DEFAULT = -1  # "the default of zlib"
_GZIP_DEFAULT_LEVEL = 6
_ZSTD_DEFAULT_LEVEL = 3


class UnpacksTooLarge(KafkaError):
    """CORRUPT_MESSAGE for readers; code that appends batches returns MESSAGE_TOO_LARGE instead, so that clients split
    them."""

    def __init__(self, limit_bytes: int) -> None:
        super().__init__(Error.CORRUPT_MESSAGE, f"decompressed records exceed {limit_bytes} bytes")


def compression_name(code: int) -> str:
    """The name for the low three bits of a batch's attributes. Raises KafkaError for 5 to 7."""
    if code >= len(NAMES):
        raise KafkaError(Error.CORRUPT_MESSAGE, f"unknown compression type id {code}")
    return NAMES[code]


def compress(name: str, payload: bytes | memoryview, level: int | None = None) -> bytes:
    """`payload` compressed with the codec. `level`: as in the topic config compression.<codec>.level, whose default is
    None's level; none and snappy have no levels."""
    return _COMPRESSORS[name](payload, level)


def decompress(name: str, payload: bytes | memoryview, limit_bytes: int = MAX_DECOMPRESSED_BATCH_BYTES) -> bytes:
    """The decompressed bytes. Raises KafkaError CORRUPT_MESSAGE when `payload` is corrupt, `UnpacksTooLarge` beyond the
    limit."""
    if name == "none":
        return bytes(payload)
    try:
        return _DECOMPRESSORS[name](bytes(payload), limit_bytes)
    except (cramjam.DecompressionError, error, IndexError) as problem:
        raise KafkaError(Error.CORRUPT_MESSAGE, f"{name} payload cannot be read: {problem}") from None


class Unpacked:
    """Decompressed bytes in memory of their own. `release` frees it; `records` must not be used after that."""

    def __init__(self, size: int) -> None:
        self._map = mmap.mmap(-1, max(size, 1))
        self.records = memoryview(self._map)

    def cut(self, size: int) -> Unpacked:
        """The same object, shortened to `size` bytes."""
        buffer, self.records = self.records, self.records[:size]
        buffer.release()
        return self

    def release(self) -> None:
        self.records.release()
        self._map.close()


def unpack(name: str, payload: bytes, limit_bytes: int) -> Unpacked:
    """`decompress` into memory of its own, for use in a thread."""
    try:
        if name == "snappy":
            return _snappy_unpack(payload, limit_bytes)
        return _unpack_growing(_INTO[name], payload, limit_bytes)
    except (cramjam.DecompressionError, error, IndexError) as problem:
        raise KafkaError(Error.CORRUPT_MESSAGE, f"{name} payload cannot be read: {problem}") from None


def _unpack_growing(decompress_into: Callable[[Any, Any], int], payload: bytes, limit_bytes: int) -> Unpacked:
    capacity = min(limit_bytes, max(_FIRST_GUESS_BYTES, 4 * len(payload)))
    while True:
        out = Unpacked(capacity)
        try:
            return out.cut(decompress_into(payload, out.records))
        except cramjam.DecompressionError as problem:
            out.release()
            if "write whole buffer" not in str(problem):
                raise
            _check_limit(capacity + (capacity == limit_bytes), limit_bytes)
            capacity = min(limit_bytes, capacity * 4)


def _snappy_unpack(payload: bytes, limit_bytes: int) -> Unpacked:
    blocks = _snappy_blocks(payload) if payload.startswith(_XERIAL_MAGIC) else [memoryview(payload)]
    sizes = [cramjam.snappy.decompress_raw_len(block) for block in blocks]
    _check_limit(sum(sizes), limit_bytes)
    out, position = Unpacked(sum(sizes)), 0
    try:
        for block, size in zip(blocks, sizes, strict=True):
            with out.records[position : position + size] as part:
                cramjam.snappy.decompress_raw_into(block, part)
            position += size
    except cramjam.DecompressionError:
        out.release()
        raise
    return out.cut(position)


def _snappy_blocks(payload: bytes) -> list[memoryview]:
    blocks, view, position = [], memoryview(payload), len(_XERIAL_HEADER)
    while position < len(payload):
        size = _BLOCK_LENGTH.unpack_from(payload, position)[0]
        position += 4
        if size < 0 or size > len(payload) - position:
            raise KafkaError(Error.CORRUPT_MESSAGE, f"a snappy block of {size} bytes exceeds the payload")
        blocks.append(view[position : position + size])
        position += size
    return blocks


def _snappy_compress(payload: bytes | memoryview, _: int | None) -> bytes:
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
    for block in _snappy_blocks(payload):
        out += _snappy_block(block, limit_bytes - len(out))
    return bytes(out)


def _snappy_block(block: bytes | memoryview, limit_bytes: int) -> bytes:
    decompressed_size = cramjam.snappy.decompress_raw_len(block)
    _check_limit(decompressed_size, limit_bytes)
    return bytes(cramjam.snappy.decompress_raw(block))


def _check_limit(size: int, limit_bytes: int) -> None:
    if size > limit_bytes:
        raise UnpacksTooLarge(limit_bytes)


def _lz4_compress(payload: bytes | memoryview, level: int | None) -> bytes:
    """Blocks must not refer to each other: Java's reader rejects linked ones. At its default level 9 Kafka, too, takes
    the fast compressor, and the high one at all others."""
    fast = level is None or level == _KAFKA_LZ4_DEFAULT_LEVEL
    compressor = cramjam.lz4.Compressor(level=0 if fast else level, content_checksum=False, block_linked=False)
    for start in range(0, len(payload), _PIECE_BYTES):
        compressor.compress(bytes(payload[start : start + _PIECE_BYTES]))
    return bytes(compressor.finish())


def _gzip_compress(payload: bytes | memoryview, level: int | None) -> bytes:
    known = level is not None and level != _GZIP_DEFAULT
    return bytes(cramjam.gzip.compress(payload, level=level if known else _GZIP_DEFAULT_LEVEL))


def _zstd_compress(payload: bytes | memoryview, level: int | None) -> bytes:
    return bytes(cramjam.zstd.compress(payload, level=_ZSTD_DEFAULT_LEVEL if level is None else level))


def _growing(decompress_into: Callable[[Any, Any], int]) -> Callable[[bytes, int], bytes]:
    """A decompressor that is called with ever larger buffers, never above the limit: the size that a frame declares is
    not trusted."""

    def read(payload: bytes, limit_bytes: int) -> bytes:
        capacity = min(limit_bytes, max(_FIRST_GUESS_BYTES, 4 * len(payload)))
        while True:
            out = bytearray(capacity)
            try:
                return bytes(memoryview(out)[: decompress_into(payload, out)])
            except cramjam.DecompressionError as problem:
                if "write whole buffer" not in str(problem):
                    raise
                _check_limit(capacity + (capacity == limit_bytes), limit_bytes)
                capacity = min(limit_bytes, capacity * 4)

    return read


_COMPRESSORS: dict[str, Callable[[bytes | memoryview, int | None], bytes]] = {
    "none": lambda payload, _: bytes(payload),
    "gzip": _gzip_compress,
    "snappy": _snappy_compress,
    "lz4": _lz4_compress,
    "zstd": _zstd_compress,
}

_INTO: dict[str, Callable[[Any, Any], int]] = {
    "gzip": cramjam.gzip.decompress_into,
    "lz4": cramjam.lz4.decompress_into,
    "zstd": cramjam.zstd.decompress_into,
}

_DECOMPRESSORS: dict[str, Callable[[bytes, int], bytes]] = {
    **{name: _growing(decompress_into) for name, decompress_into in _INTO.items()},
    "snappy": _snappy_decompress,
}
