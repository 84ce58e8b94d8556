"""Transaction markers (KIP-98): control batches that end a producer's transaction in a partition.

A marker is one record in a transactional control batch without a sequence number:

    key    version i16 (0) | type i16: 0 abort, 1 commit
    value  version i16 (0) | epoch of the transaction coordinator i32

Later versions of key and value may only add fields. Control records of other types belong to other protocols (a new
KRaft leader, snapshots, voters) and are no markers.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.records.record_batch import Record, decode_records, encode_batch

_VERSION = 0
_ABORT, _COMMIT = 0, 1
_KEY = Struct(">hh")  # version, type
_VALUE = Struct(">hi")  # version, coordinator epoch


class TransactionMarker(NamedTuple):
    """How a transaction ends, and by which epoch of its coordinator."""

    is_commit: bool
    coordinator_epoch: int


def encode_marker(producer_id: int, producer_epoch: int, marker: TransactionMarker, timestamp_ms: int) -> bytes:
    """The control batch of a marker, before the leader assigns its offset."""
    record = Record(
        timestamp=timestamp_ms,
        key=_KEY.pack(_VERSION, _COMMIT if marker.is_commit else _ABORT),
        value=_VALUE.pack(_VERSION, marker.coordinator_epoch),
    )
    return encode_batch(
        [record], producer_id=producer_id, producer_epoch=producer_epoch, transactional=True, control=True
    )


def read_marker(batch: bytes | bytearray | memoryview) -> TransactionMarker | None:
    """The marker in one control batch; None for control records of another type, for corrupt ones, and for a batch
    from which compaction has removed the record."""
    try:
        record = next(decode_records(batch), None)
    except KafkaError:
        return None
    if record is None or record.key is None or record.value is None:
        return None
    if len(record.key) < _KEY.size or len(record.value) < _VALUE.size:
        return None
    (key_version, kind), (value_version, coordinator_epoch) = (
        _KEY.unpack_from(record.key),
        _VALUE.unpack_from(record.value),
    )
    if key_version < 0 or value_version < 0 or kind not in (_ABORT, _COMMIT):
        return None
    return TransactionMarker(kind == _COMMIT, coordinator_epoch)
