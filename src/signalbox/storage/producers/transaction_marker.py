"""Transaction markers in a log: control batches with one record each (KIP-98)."""

from __future__ import annotations

import struct

from signalbox.protocol.error_table import KafkaError
from signalbox.protocol.records.record_batch import decode_records

_KEY = struct.Struct(">hh")  # version, type: 0 abort, 1 commit
_VALUE = struct.Struct(">hi")  # version, coordinator epoch


def read_coordinator_epoch(batch: bytes | bytearray | memoryview) -> int | None:
    """The epoch of the coordinator that wrote a marker; None for control records of another kind."""
    try:
        for record in decode_records(batch):
            if record.key is not None and len(record.key) >= _KEY.size and len(record.value or b"") >= _VALUE.size:
                epoch: int = _VALUE.unpack_from(record.value or b"")[1]
                return epoch
    except KafkaError:
        return None
    return None
