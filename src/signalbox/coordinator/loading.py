"""Reads a partition of the internal topic from its start to its end and replays it, in small steps.

A partition may hold a hundred megabytes, and loading must not block the event loop: the caller runs as many steps at
a time as fit into a slice. It reads up to the log end offset, not the high watermark: a leader keeps its whole log.
Records of a transaction are replayed with its producer id, and its marker as a `TransactionEnd`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from struct import Struct

from signalbox.common.cooperative_task import yielding
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.coordinator.decision import NO_PRODUCER_ID, CoordinatorRecord, TransactionEnd
from signalbox.coordinator.ports import CoordinatorLog, RecordSerde
from signalbox.protocol.records.batch_header import iter_batch_headers
from signalbox.protocol.records.record_batch import Record, records_of

logger = logging.getLogger(__name__)

# One read must fit into a slice of the event loop; `offsets.load.buffer.size` can only lower it.
MAX_READ_BYTES = 65_536

_CONTROL_KEY = Struct(">hh")  # version and kind of a control record (KIP-98)
_ABORT, _COMMIT = 0, 1


def load_steps(
    log: CoordinatorLog,
    partition: int,
    serde: RecordSerde,
    replay: Callable[[CoordinatorRecord], None],
    buffer_bytes: int,
) -> Iterator[int]:
    """Yields an offset after every record and every batch. Raises KafkaError if the log cannot be read (leadership
    lost, storage error) and DecodeError if a record is corrupt."""
    offset = log.start_offset(partition)
    end_offset = log.end_offset(partition)
    while offset < end_offset:
        chunk = memoryview(log.read(partition, offset, min(buffer_bytes, MAX_READ_BYTES)))
        before = offset
        for header in iter_batch_headers(chunk, allow_partial_tail=True):
            if header.next_offset <= offset:
                continue
            producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
            for record in records_of(chunk, header):
                if record.offset >= offset:
                    decoded = (
                        _transaction_end(record) if header.is_control else _decoded(record, log.topic, partition, serde)
                    )
                    if decoded is not None:
                        replay(decoded._replace(producer_id=producer_id))
                yield record.offset
            offset = header.next_offset
            yield offset
        if offset == before:
            return  # a gap at the end: compacted, or truncated during the load


def _decoded(record: Record, topic: str, partition: int, serde: RecordSerde) -> CoordinatorRecord | None:
    """None, with a log message, for a record that this release does not know."""
    if record.key is None:
        logger.warning(
            "Coordinator record without a key ignored (partition=%s-%d, offset=%d)", topic, partition, record.offset
        )
        return None
    decoded = serde.decode(record.key, record.value)
    if decoded is None:
        logger.warning(
            "Coordinator record of an unknown kind ignored (partition=%s-%d, offset=%d)",
            topic,
            partition,
            record.offset,
        )
    return decoded


def _transaction_end(record: Record) -> CoordinatorRecord | None:
    """The marker of a transaction; None for a control record of another kind."""
    if record.key is None or len(record.key) < _CONTROL_KEY.size:
        return None
    _, kind = _CONTROL_KEY.unpack_from(record.key)
    return CoordinatorRecord(TransactionEnd(kind == _COMMIT), None) if kind in (_ABORT, _COMMIT) else None


def run_in_slices(
    scheduler: TaskScheduler, steps: Iterator[object], finished: Callable[[], None] = lambda: None
) -> None:
    """Run `steps` to the end as a cooperative task, from the next round of the event loop on, then call `finished`: so
    that loading a partition never delays a request."""

    def run() -> None:
        for _ in yielding(steps):
            pass
        finished()

    scheduler.run_soon(run)
