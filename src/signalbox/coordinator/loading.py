"""Reads a partition of the internal topic from its start to its end and replays it, in small steps.

A partition may hold a hundred megabytes, and the loop must not stand still for it: the caller runs as many steps at a
time as it can spare. Read is up to the end of the log, not the high watermark: what a leader has, it stands by.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from signalbox.coordinator.decision import CoordinatorRecord
from signalbox.coordinator.ports import CoordinatorLog, RecordSerde
from signalbox.protocol.records.batch_header import CONTROL_BIT, TRANSACTIONAL_BIT, iter_batch_headers
from signalbox.protocol.records.record_batch import Record, records_of

logger = logging.getLogger(__name__)

# One read must fit into a slice of the loop; the config key can only lower it.
MAX_READ_BYTES = 65_536


def load_steps(
    log: CoordinatorLog,
    partition: int,
    serde: RecordSerde,
    replay: Callable[[CoordinatorRecord], None],
    buffer_bytes: int,
) -> Iterator[int]:
    """Yields the next offset to read after every record. Raises KafkaError when the log cannot be read (leadership
    gone, storage error) and DecodeError when a record is damaged."""
    offset = log.start_offset(partition)
    end_offset = log.end_offset(partition)
    while offset < end_offset:
        chunk = memoryview(log.read(partition, offset, min(buffer_bytes, MAX_READ_BYTES)))
        before = offset
        for header in iter_batch_headers(chunk, allow_partial_tail=True):
            if header.next_offset <= offset:
                continue
            # Offsets of a transaction count when it commits; markers are not records.
            if not header.attributes & (CONTROL_BIT | TRANSACTIONAL_BIT):
                for record in records_of(chunk, header):
                    if record.offset >= offset:
                        _replay_one(record, partition, serde, replay)
                    yield record.offset
            offset = header.next_offset
            yield offset
        if offset == before:
            return  # a gap at the end: compacted away, or truncated while it was read


def _replay_one(
    record: Record, partition: int, serde: RecordSerde, replay: Callable[[CoordinatorRecord], None]
) -> None:
    if record.key is None:
        logger.warning("partition %d, offset %d: a record without a key is ignored", partition, record.offset)
        return
    decoded = serde.decode(record.key, record.value)
    if decoded is None:
        logger.warning("partition %d, offset %d: a record of unknown kind is ignored", partition, record.offset)
        return
    replay(decoded)
