"""Offsets by timestamp: the segment by its largest timestamp, the batch by the time index, then the record inside it.

A batch's largest timestamp is the producer's word unless the broker has read its records, so a search may read many
batches in vain, and a small batch may decompress to hundreds of megabytes. A search therefore yields between headers
and between records, and a large batch is decompressed in a thread. Meanwhile segments may be rolled, deleted, truncated
or replaced by compaction: after each yield the search looks up its position again, by offset. Its caller must compare
leadership again.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.limits import MAX_DECOMPRESSED_BATCH_BYTES, MIN_APPENDED_UNPACKED_BYTES
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.batch_header import HEADER_SIZE, TIMESTAMP_TYPE_BIT, BatchHeader
from signalbox.protocol.records.compression import UnpacksTooLarge, compression_name, unpack
from signalbox.protocol.varint import read_zigzag_varint
from signalbox.storage.files.file_system import Buffer
from signalbox.storage.log_body import LogBody
from signalbox.storage.segments.segment import Segment
from signalbox.storage.unpacking_steps import UnpackingSteps, Work, decompress_at_once

_HEADERS_AT_ONCE = 128  # 0.2 ms; then the position is looked up again


class TimestampedOffset(NamedTuple):
    """A record's timestamp (ms), its offset, and the leader epoch in which it was written."""

    timestamp: int
    offset: int
    leader_epoch: int


Match = TimestampedOffset | None
InBatch = tuple[Match]  # the result for one batch: never None itself
Search = Generator[tuple[UnpackingSteps[InBatch], int], InBatch, Match]
"""Yields (steps, compressed size) for a batch that must be decompressed in a thread; receives the steps' result."""


def find_by_timestamp(body: LogBody, timestamp: int) -> Search:
    """The first record from the log start on whose timestamp is `timestamp` or later. Yields."""
    offset = -1  # all records before it are older
    while True:
        slot = body.segments.slot_of(offset)
        segment, following = body.segments[slot], _following_offset(body, slot)
        location = None
        if segment.max_timestamp >= timestamp:
            offset = max(offset, segment.time_index_offset(timestamp), body.log_start_offset)
            location = segment.locate(offset)
        before = offset
        for batch in islice(segment.headers(location[0]), _HEADERS_AT_ONCE) if location is not None else ():
            offset = max(offset, batch.next_offset)
            if batch.max_timestamp >= timestamp:
                match = yield from _find_in_batch(body, segment, batch, timestamp)
                if match is not None:
                    return match
                break
        if offset == before:  # no batch is left there, or none that can be read
            if following is None:
                return None
            offset = following
        yield_if_due()


def find_max_timestamp(body: LogBody) -> Search:
    """The first record that has the largest timestamp of the log, which is -1 if no record has one. Yields."""
    largest = -1
    following: int | None = -1
    while following is not None:
        slot = body.segments.slot_of(following)
        largest, following = max(largest, body.segments[slot].max_timestamp), _following_offset(body, slot)
        yield_if_due()
    return (yield from find_by_timestamp(body, largest))


def _following_offset(body: LogBody, slot: int) -> int | None:
    """Where the segment behind this one begins, None for the last one. Another segment may contain this offset after a
    yield: compaction has merged several into one."""
    return body.segments[slot + 1].base_offset if slot + 1 < len(body.segments) else None


def _find_in_batch(body: LogBody, segment: Segment, batch: BatchHeader, timestamp: int) -> Search:
    """Yields."""
    if not batch.record_count:
        return None  # compaction leaves a header without records
    payload = segment.read(batch.position + HEADER_SIZE, batch.size_bytes - HEADER_SIZE)
    name, start_offset = compression_name(batch.compression), body.log_start_offset
    records: Buffer | None = decompress_at_once(name, payload) if batch.compression else payload
    if records is not None:
        return _first_record(records, batch, timestamp, start_offset)
    for limit_bytes in (MIN_APPENDED_UNPACKED_BYTES, MAX_DECOMPRESSED_BATCH_BYTES):
        steps = _find_in_unpacked(partial(unpack, name, payload, limit_bytes), batch, timestamp, start_offset)
        try:
            (match,) = yield UnpackingSteps(steps, next(steps), limit_bytes), len(payload)
        except UnpacksTooLarge:
            if limit_bytes == MAX_DECOMPRESSED_BATCH_BYTES:
                raise
        else:
            return match
    return None


def _find_in_unpacked(
    unpacking: Work, batch: BatchHeader, timestamp: int, start_offset: int
) -> Generator[Work, Any, InBatch]:
    """A generator for `UnpackingSteps`. Yields."""
    unpacked = yield unpacking
    try:
        match = _first_record(unpacked.records, batch, timestamp, start_offset)
    except KafkaError:
        yield unpacked.release
        raise
    yield unpacked.release  # munmap takes milliseconds, too
    return (match,)


def _first_record(records: Buffer, batch: BatchHeader, timestamp: int, start_offset: int) -> Match:
    """The first of the uncompressed records that matches. Reads timestamps and offsets alone: keys, values and headers
    are skipped. Yields."""
    append_time = batch.max_timestamp if batch.attributes & TIMESTAMP_TYPE_BIT else None
    position, end = 0, len(records)
    try:
        for _ in range(batch.record_count):
            yield_if_due()
            size, at = read_zigzag_varint(records, position)
            position = at + size
            if size < 0 or position > end:
                raise DecodeError(f"a record of {size} bytes, {end - at} are available")
            timestamp_delta, at = read_zigzag_varint(records, at + 1)
            offset = batch.base_offset + read_zigzag_varint(records, at)[0]
            found = batch.base_timestamp + timestamp_delta if append_time is None else append_time
            if found >= timestamp and offset >= start_offset:
                return TimestampedOffset(found, offset, batch.partition_leader_epoch)
    except DecodeError as problem:
        raise KafkaError(Error.CORRUPT_MESSAGE, f"a record cannot be read: {problem}") from None
    return None
