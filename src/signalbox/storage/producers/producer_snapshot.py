"""Producer state on disk: `<offset>.snapshot`, Kafka's format version 1.

    version i16 | crc32c of all that follows u32 | count i32 | per producer: producer id i64, epoch i16,
    last sequence i32, last offset i64, offset delta i32, timestamp i64, coordinator epoch i32,
    first offset of the open transaction i64 (-1 for none)

Only the last batch of each producer is kept. A snapshot at offset N holds the state before N. It is taken when a
segment is rolled, at a clean shutdown and when the log is moved, so that a start replays at most one segment.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Collection
from contextlib import suppress

from crc32c import crc32c

from signalbox.storage.files.file_names import SNAPSHOT_SUFFIX, offset_name, offsets_in
from signalbox.storage.files.file_system import FileSystem, replace_file
from signalbox.storage.producers.producer_state import (
    MAX_SEQUENCE,
    NO_OFFSET,
    NO_SEQUENCE,
    ProducerEntry,
    ProducerStates,
    SequenceRange,
)

_VERSION = 1
_HEAD = struct.Struct(">hIi")
_ENTRY = struct.Struct(">qhiqiqiq")
_CRC_COVERS_FROM = 6


def encode_snapshot(states: ProducerStates) -> bytes:
    """The content of the file."""
    body = bytearray(_HEAD.size)
    for producer_id, entry in states.entries.items():
        delta = entry.batches[-1][3] if entry.batches else 0
        body += _ENTRY.pack(
            producer_id,
            entry.producer_epoch,
            entry.last_sequence,
            entry.last_offset,
            delta,
            entry.last_timestamp,
            entry.coordinator_epoch,
            entry.transaction_first_offset,
        )
    _HEAD.pack_into(body, 0, _VERSION, 0, len(states.entries))
    _HEAD.pack_into(body, 0, _VERSION, crc32c(memoryview(body)[_CRC_COVERS_FROM:]), len(states.entries))
    return bytes(body)


def decode_snapshot(data: bytes) -> ProducerStates:
    """The state in a file's content; ValueError if it is corrupt or has another version."""
    if len(data) < _HEAD.size:
        raise ValueError(f"a producer snapshot of {len(data)} bytes")
    version, crc, count = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise ValueError(f"producer snapshot of version {version}, expected {_VERSION}")
    if crc != crc32c(data[_CRC_COVERS_FROM:]) or len(data) != _HEAD.size + count * _ENTRY.size:
        raise ValueError("corrupt producer snapshot")
    states = ProducerStates()
    for producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, first in _ENTRY.iter_unpack(
        data[_HEAD.size :]
    ):
        batches: tuple[SequenceRange, ...] = ()
        if offset != NO_OFFSET:
            first_sequence = (sequence - delta) & MAX_SEQUENCE if sequence != NO_SEQUENCE else NO_SEQUENCE
            batches = ((first_sequence, sequence, offset, delta, timestamp),)
        states.restore(producer_id, ProducerEntry(epoch, batches, timestamp, coordinator_epoch, first))
    states.restore_transactions()
    return states


def save_snapshot(file_system: FileSystem, path: str, states: ProducerStates, sync: bool = False) -> None:
    """Replaces the snapshot at `path`."""
    replace_file(file_system, path, encode_snapshot(states), sync)


def remove_unused_snapshots(
    file_system: FileSystem, folder: str, base_offsets: Collection[int], end_offset: int
) -> None:
    """Removes the snapshots above `end_offset`, and those inside segments, which would stay when those are deleted.
    The newest one inside the last segment is kept, so that a start does not replay what is before it."""
    kept, last_base_offset = set(base_offsets), max(base_offsets)
    offsets = offsets_in(folder, SNAPSHOT_SUFFIX)
    kept.update([offset for offset in offsets if last_base_offset < offset <= end_offset][-1:])
    for offset in offsets:
        if offset > end_offset or offset not in kept:
            file_system.remove(os.path.join(folder, offset_name(offset, SNAPSHOT_SUFFIX)))


def sync_snapshots(file_system: FileSystem, folder: str, after: int, up_to: int) -> None:
    """Makes the snapshots above `after` and up to `up_to` durable. In any thread: the folder may be renamed and a
    snapshot removed meanwhile."""
    with suppress(FileNotFoundError):
        for offset in offsets_in(folder, SNAPSHOT_SUFFIX):
            if after < offset <= up_to:
                with suppress(FileNotFoundError):
                    _sync(file_system, os.path.join(folder, offset_name(offset, SNAPSHOT_SUFFIX)))


def _sync(file_system: FileSystem, path: str) -> None:
    fd = file_system.open(path)
    try:
        file_system.fsync(fd)
    finally:
        file_system.close(fd)


def load_snapshot(file_system: FileSystem, path: str, size: int) -> ProducerStates:
    """The state in the snapshot at `path`; ValueError if it is corrupt."""
    fd = file_system.open(path)
    try:
        return decode_snapshot(file_system.pread(fd, size, 0))
    finally:
        file_system.close(fd)
