"""Offsets by timestamp: the segment by its largest timestamp, the batch by the time index, then the record inside
it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from signalbox.protocol.records.batch_header import BatchHeader
from signalbox.protocol.records.record_batch import Record, decode_records
from signalbox.storage.log_body import LogBody
from signalbox.storage.segments.segment import Segment


class TimestampedOffset(NamedTuple):
    """A record's timestamp (ms), its offset, and the leader epoch in which it was written."""

    timestamp: int
    offset: int
    leader_epoch: int


def find_by_timestamp(body: LogBody, timestamp: int) -> TimestampedOffset | None:
    """The first record from the log start on whose timestamp is `timestamp` or later."""
    for segment in body.segments:
        if segment.max_timestamp < timestamp:
            continue
        for batch in _batches_after(segment, segment.time_index_offset(timestamp)):
            if batch.max_timestamp >= timestamp and batch.last_offset >= body.log_start_offset:
                result = _first_record(segment, batch, lambda r: r.timestamp >= timestamp, body.log_start_offset)
                if result is not None:
                    return result
    return None


def find_max_timestamp(body: LogBody) -> TimestampedOffset | None:
    """The first record that has the largest timestamp of the log."""
    segment = max(body.segments, key=lambda segment: segment.max_timestamp)
    largest = segment.max_timestamp
    if largest < 0:
        return None
    for batch in _batches_after(segment, segment.time_index_offset(largest)):
        if batch.max_timestamp == largest:
            result = _first_record(segment, batch, lambda r: r.timestamp == largest, body.log_start_offset)
            if result is not None:
                return result
    return None


def _batches_after(segment: Segment, offset: int) -> Iterator[BatchHeader]:
    location = segment.locate(offset)
    return segment.headers(location[0]) if location else iter(())


def _first_record(
    segment: Segment, batch: BatchHeader, matches: Callable[[Record], bool], start_offset: int
) -> TimestampedOffset | None:
    for record in decode_records(segment.read(batch.position, batch.size_bytes)):
        if record.offset >= start_offset and matches(record):
            return TimestampedOffset(record.timestamp, record.offset, batch.partition_leader_epoch)
    return None
