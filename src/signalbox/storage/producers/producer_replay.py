"""Producer state from disk: the newest snapshot that is not above the end, then the batches behind it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence

from signalbox.protocol.records.batch_header import CONTROL_BIT, TRANSACTIONAL_BIT, BatchHeader
from signalbox.protocol.records.transaction_marker import read_marker
from signalbox.storage.files.file_names import SNAPSHOT_SUFFIX, offset_name, offsets_in
from signalbox.storage.files.file_system import FileSystem
from signalbox.storage.producers.producer_snapshot import load_snapshot, save_snapshot
from signalbox.storage.producers.producer_state import NO_OFFSET, ProducerStates
from signalbox.storage.segments.segment import Segment
from signalbox.storage.segments.segment_list import SegmentList
from signalbox.storage.segments.transaction_index import AbortedTransaction

logger = logging.getLogger(__name__)


def replay_producers(file_system: FileSystem, folder: str, segments: SegmentList, end_offset: int) -> ProducerStates:
    """The producers of a log as of `end_offset`. Corrupt snapshots are removed and older ones are tried. If the segment
    with the end has no snapshot, one is saved, so that the next start or truncation does not read the older ones."""
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
    base_offset = segments[segments.slot_of(end_offset)].base_offset
    if start < base_offset:
        _note_batches(states, segments, start, base_offset)
        _save(file_system, os.path.join(folder, offset_name(base_offset, SNAPSHOT_SUFFIX)), states)
        start = base_offset
    _note_batches(states, segments, start, end_offset)
    return states


def _note_batches(states: ProducerStates, segments: SegmentList, start: int, end_offset: int) -> None:
    for batch, segment in _batches(segments, start, end_offset):
        note_stored_batch(states, batch, segment)


def _save(file_system: FileSystem, path: str, states: ProducerStates) -> None:
    """Without it the log can be opened as well: a disk that is full is no reason to take it offline."""
    try:
        save_snapshot(file_system, path, states)
    except OSError as error:
        logger.debug("producer snapshot not saved (path=%s): %s", path, error)


def rebuild_transaction_index(file_system: FileSystem, folder: str, segments: SegmentList, segment: Segment) -> None:
    """Rebuilds the transaction index of `segment` from its markers."""
    rebuild_transaction_indexes(file_system, folder, segments, [segment])


def rebuild_transaction_indexes(
    file_system: FileSystem, folder: str, segments: SegmentList, rebuilt: Sequence[Segment]
) -> None:
    """Rebuilds the transaction indexes of these segments of the log, in its order, from their markers. The log is read
    once, also if it has no snapshots."""
    reached = rebuilt[0].base_offset if rebuilt else 0
    states = replay_producers(file_system, folder, segments, reached)
    for segment in rebuilt:
        _note_batches(states, segments, reached, segment.base_offset)
        segment.transaction_index.clear()
        for batch in segment.headers():
            reached = batch.next_offset
            aborted = note_stored_batch(states, batch, segment)
            if aborted is not None:
                segment.transaction_index.append(aborted)


def _batches(segments: SegmentList, start: int, end_offset: int) -> Iterator[tuple[BatchHeader, Segment]]:
    for slot in range(segments.slot_of(start), len(segments) if start < end_offset else 0):
        location = segments[slot].locate(start)
        for batch in segments[slot].headers(location[0]) if location else ():
            if batch.base_offset >= end_offset:
                return
            yield batch, segments[slot]


def note_stored_batch(states: ProducerStates, batch: BatchHeader, segment: Segment) -> AbortedTransaction | None:
    """`note_batch` of a batch in the file of `segment`."""
    if batch.producer_id < 0:
        return None
    data = segment.read(batch.position, batch.size_bytes) if batch.is_control else b""
    return note_batch(states, batch._replace(position=0), data)


def note_batch(
    states: ProducerStates, batch: BatchHeader, buffer: bytes | bytearray | memoryview
) -> AbortedTransaction | None:
    """Adds a batch to the state without a check: it was admitted before. `buffer` is only read for a marker. Returns
    the entry of the transaction index, if the batch aborts a transaction."""
    producer_id, producer_epoch, offset = batch.producer_id, batch.producer_epoch, batch.base_offset
    if batch.attributes & CONTROL_BIT:
        marker = read_marker(memoryview(buffer)[batch.position : batch.position + batch.size_bytes])
        if marker is None:
            return None
        first_offset = states.end_transaction(
            producer_id, producer_epoch, marker.coordinator_epoch, batch.max_timestamp, offset
        )
        if marker.is_commit or first_offset == NO_OFFSET:
            return None
        last_stable_offset = min(states.first_ongoing_offset(), offset + 1)
        return AbortedTransaction(producer_id, first_offset, offset, last_stable_offset)
    sequences = (batch.base_sequence, batch.last_sequence, batch.last_offset, batch.last_offset_delta)
    states.append(
        producer_id, producer_epoch, (*sequences, batch.max_timestamp), bool(batch.attributes & TRANSACTIONAL_BIT)
    )
    return None
