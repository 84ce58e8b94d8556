"""Producer state from disk: the newest snapshot that is not above the end, then the batches behind it."""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Iterator

from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.records.batch_header import CONTROL_BIT, TRANSACTIONAL_BIT, BatchHeader
from signalbox.protocol.records.record_batch import decode_records
from signalbox.storage.files.file_names import SNAPSHOT_SUFFIX, offset_name, offsets_in
from signalbox.storage.files.file_system import FileSystem
from signalbox.storage.producers.producer_snapshot import load_snapshot
from signalbox.storage.producers.producer_state import MAX_SEQUENCE, ProducerStates
from signalbox.storage.segments.segment import Segment
from signalbox.storage.segments.segment_list import SegmentList

logger = logging.getLogger(__name__)

_MARKER_KEY = struct.Struct(">hh")  # version, type: 0 abort, 1 commit
_MARKER_VALUE = struct.Struct(">hi")  # version, coordinator epoch


def replay_producers(file_system: FileSystem, folder: str, segments: SegmentList, end_offset: int) -> ProducerStates:
    """The producers of a log as of `end_offset`. Corrupt snapshots are removed and older ones are tried."""
    states, start = ProducerStates(), segments[0].base_offset
    for offset in reversed(offsets_in(folder, SNAPSHOT_SUFFIX)):
        if offset > end_offset or offset < start:
            continue
        path = os.path.join(folder, offset_name(offset, SNAPSHOT_SUFFIX))
        try:
            states, start = load_snapshot(file_system, path, os.path.getsize(path)), offset
            break
        except ValueError as fault:
            logger.warning("Corrupt producer snapshot removed, an older one is used (path=%s): %s", path, fault)
            file_system.remove(path)
    for batch, segment in _batches(segments, start, end_offset):
        if batch.producer_id >= 0:
            data = segment.read(batch.position, batch.size_bytes) if batch.is_control else b""
            note_batch(states, batch._replace(position=0), data)
    return states


def _batches(segments: SegmentList, start: int, end_offset: int) -> Iterator[tuple[BatchHeader, Segment]]:
    for slot in range(segments.slot_of(start), len(segments) if start < end_offset else 0):
        location = segments[slot].locate(start)
        for batch in segments[slot].headers(location[0]) if location else ():
            if batch.base_offset >= end_offset:
                return
            yield batch, segments[slot]


def note_batch(states: ProducerStates, batch: BatchHeader, buffer: bytes | bytearray | memoryview) -> None:
    """Adds a batch to the state without a check: it was admitted before. `buffer` is only read for a marker."""
    if batch.attributes & CONTROL_BIT:
        end = batch.position + batch.size_bytes
        coordinator_epoch = read_coordinator_epoch(memoryview(buffer)[batch.position : end])
        if coordinator_epoch is not None:
            states.end_transaction(batch.producer_id, batch.producer_epoch, coordinator_epoch, batch.max_timestamp)
        return
    delta = batch.last_offset_delta
    last_sequence = (batch.base_sequence + delta) & MAX_SEQUENCE
    states.append(
        batch.producer_id,
        batch.producer_epoch,
        (batch.base_sequence, last_sequence, batch.base_offset + delta, delta, batch.max_timestamp),
        bool(batch.attributes & TRANSACTIONAL_BIT),
    )


def read_coordinator_epoch(batch: bytes | bytearray | memoryview) -> int | None:
    """The epoch of the coordinator that wrote a transaction marker, a control batch with one record (KIP-98); None for
    control records of another kind."""
    try:
        for record in decode_records(batch):
            value = record.value or b""
            if record.key is not None and len(record.key) >= _MARKER_KEY.size and len(value) >= _MARKER_VALUE.size:
                epoch: int = _MARKER_VALUE.unpack_from(value)[1]
                return epoch
    except KafkaError:
        return None
    return None
