"""The 61 bytes before the records of a batch, message format 2 (KIP-98), read and patched in place.

    0 base offset i64 | 8 batch length i32 | 12 partition leader epoch i32 | 16 magic i8 | 17 crc u32
    21 attributes i16 | 23 last offset delta i32 | 27 base timestamp i64 | 35 max timestamp i64
    43 producer id i64 | 51 producer epoch i16 | 53 base sequence i32 | 57 record count i32 | 61 records

`batch length` counts what follows itself (byte 12 on). The checksum (CRC-32C) covers everything from the
attributes on, so a leader may write base offset and leader epoch without touching it. Formats 0 and 1 have
another layout behind the same first 17 bytes; they are rejected with UNSUPPORTED_FOR_MESSAGE_FORMAT.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from signalbox.protocol.error_table import Error, KafkaError

HEADER_SIZE = 61
LOG_OVERHEAD = 12
MAGIC = 2

COMPRESSION_MASK = 0x07
TIMESTAMP_TYPE_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20

_HEADER = Struct(">qiibIhiqqqhii")
_OFFSET_AND_LENGTH = Struct(">qi")
_BASE_OFFSET = Struct(">q")
_LEADER_EPOCH = Struct(">i")
_CRC = Struct(">I")
_ATTRIBUTES = Struct(">h")
_MAX_TIMESTAMP = Struct(">q")
_new_tuple = tuple.__new__

# The bare fields, in the order of `BatchHeader`, for append and replay, where a named tuple costs too much.
unpack_header = _HEADER.unpack_from


class BatchHeader(NamedTuple):
    """One batch's header; `position` = where the batch begins in the buffer it was read from."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int
    position: int = 0

    @property
    def size_bytes(self) -> int:
        """Size of the complete batch, header included."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record; wraps from 2147483647 to 0. -1 without a producer id."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def compression(self) -> int:
        return self.attributes & COMPRESSION_MASK

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & TIMESTAMP_TYPE_BIT)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id >= 0


def read_batch_header(buffer: bytes | bytearray | memoryview, position: int = 0) -> BatchHeader:
    """The header at `position`. Raises KafkaError: CORRUPT_MESSAGE when it is cut short or its length is wrong,
    UNSUPPORTED_FOR_MESSAGE_FORMAT for formats 0 and 1."""
    if len(buffer) - position < HEADER_SIZE or buffer[position + 16] != MAGIC:
        raise _no_header(buffer, position)
    header: BatchHeader = _new_tuple(BatchHeader, (*_HEADER.unpack_from(buffer, position), position))
    if header.batch_length < HEADER_SIZE - LOG_OVERHEAD:
        raise KafkaError(Error.CORRUPT_MESSAGE, f"batch length {header.batch_length} is less than its header")
    return header


def _no_header(buffer: bytes | bytearray | memoryview, position: int) -> KafkaError:
    remaining = len(buffer) - position
    magic = buffer[position + 16] if remaining > 16 else MAGIC
    if magic in (0, 1):
        return KafkaError(
            Error.UNSUPPORTED_FOR_MESSAGE_FORMAT, f"message format {magic} is not supported: format 2 is needed"
        )
    if magic != MAGIC:
        return KafkaError(Error.CORRUPT_MESSAGE, f"magic {magic} at {position}: format 2 is needed")
    return KafkaError(Error.CORRUPT_MESSAGE, f"{remaining} bytes left at {position}: a batch header has {HEADER_SIZE}")


def iter_batch_headers(
    buffer: bytes | bytearray | memoryview, position: int = 0, *, allow_partial_tail: bool = False
) -> Iterator[BatchHeader]:
    """Headers of consecutive batches. A fetch may cut the last batch short: `allow_partial_tail` ends there; otherwise
    a cut is CORRUPT_MESSAGE."""
    end = len(buffer)
    while position < end:
        if allow_partial_tail and not _is_complete(buffer, position, end):
            return
        header = read_batch_header(buffer, position)
        if header.size_bytes > end - position:
            raise KafkaError(Error.CORRUPT_MESSAGE, f"a batch of {header.size_bytes} bytes, {end - position} are left")
        yield header
        position += header.size_bytes


def _is_complete(buffer: bytes | bytearray | memoryview, position: int, end: int) -> bool:
    if end - position < LOG_OVERHEAD:
        return False
    batch_length: int = _OFFSET_AND_LENGTH.unpack_from(buffer, position)[1]
    return batch_length + LOG_OVERHEAD <= end - position


def check_crc(buffer: bytes | bytearray | memoryview, header: BatchHeader) -> bool:
    """Whether the checksum of the batch that `header` was read from is correct."""
    start = header.position
    return crc32c(memoryview(buffer)[start + 21 : start + LOG_OVERHEAD + header.batch_length]) == header.crc


def patch_base_offset_and_epoch(
    buffer: bytearray | memoryview, base_offset: int, leader_epoch: int, position: int = 0
) -> None:
    """Write the values that the leader assigns. The checksum covers neither of them."""
    _BASE_OFFSET.pack_into(buffer, position, base_offset)
    _LEADER_EPOCH.pack_into(buffer, position + 12, leader_epoch)


def patch_log_append_time(buffer: bytearray | memoryview, header: BatchHeader, timestamp_ms: int) -> None:
    """Set the broker's time on a batch (message.timestamp.type=LogAppendTime) and recompute its checksum."""
    _ATTRIBUTES.pack_into(buffer, header.position + 21, header.attributes | TIMESTAMP_TYPE_BIT)
    patch_max_timestamp(buffer, header, timestamp_ms)


def patch_max_timestamp(buffer: bytearray | memoryview, header: BatchHeader, timestamp_ms: int) -> None:
    """Correct the maximum timestamp of a batch and recompute its checksum."""
    start = header.position
    _MAX_TIMESTAMP.pack_into(buffer, start + 35, timestamp_ms)
    view = memoryview(buffer)
    _CRC.pack_into(buffer, start + 17, crc32c(view[start + 21 : start + header.size_bytes]))


def write_batch_header(header: BatchHeader, records: bytes) -> bytes:
    """Header and records joined. Length and checksum are computed; those in `header` are not read."""
    sized = header._replace(batch_length=HEADER_SIZE - LOG_OVERHEAD + len(records), crc=0)
    batch = bytearray(_HEADER.pack(*sized[:13]))
    batch += records
    _CRC.pack_into(batch, 17, crc32c(memoryview(batch)[21:]))
    return bytes(batch)
