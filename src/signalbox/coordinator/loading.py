"""Reads a partition of the internal topic from its start to its end and replays it, in small steps.

A partition may hold a hundred megabytes, and loading must not block the event loop: the caller runs as many steps at
a time as fit into a slice. It reads up to the log end offset, not the high watermark: a leader keeps its whole log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from signalbox.common.cooperative_task import yielding
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.coordinator.decision import CoordinatorRecord
from signalbox.coordinator.ports import CoordinatorLog, RecordSerde
from signalbox.protocol.records.batch_header import CONTROL_BIT, TRANSACTIONAL_BIT, iter_batch_headers
from signalbox.protocol.records.record_batch import Record, records_of

logger = logging.getLogger(__name__)

# One read must fit into a slice of the event loop; `offsets.load.buffer.size` can only lower it.
MAX_READ_BYTES = 65_536


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
            # Offsets of a transaction only count after its commit; control batches have no offsets.
            if not header.attributes & (CONTROL_BIT | TRANSACTIONAL_BIT):
                for record in records_of(chunk, header):
                    if record.offset >= offset:
                        _replay_one(record, partition, serde, replay)
                    yield record.offset
            offset = header.next_offset
            yield offset
        if offset == before:
            return  # a gap at the end: compacted, or truncated during the load


def _replay_one(
    record: Record, partition: int, serde: RecordSerde, replay: Callable[[CoordinatorRecord], None]
) -> None:
    if record.key is None:
        logger.warning(
            "Group metadata record without a key ignored (partition=%d, offset=%d)", partition, record.offset
        )
        return
    decoded = serde.decode(record.key, record.value)
    if decoded is None:
        logger.warning(
            "Group metadata record of an unknown kind ignored (partition=%d, offset=%d)", partition, record.offset
        )
        return
    replay(decoded)


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
