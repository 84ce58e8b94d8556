"""One partition of a produce request, from the queued append to its result.

A pending append is finished when its batch is in the file (acks 0 and 1) or below the high watermark (acks=all). The
field names are those of ProduceResponse's partition entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.record_errors import InvalidRecords, RecordErrors
from signalbox.storage.append_queue import LogAppendInfo

if TYPE_CHECKING:
    from signalbox.replication.partition import Partition

ACKS_ALL = -1


class PendingAppend:
    """An append that was queued or rejected. `error` is final only when `done`."""

    __slots__ = (
        "_listener",
        "acks",
        "base_offset",
        "done",
        "error",
        "error_message",
        "log_append_time_ms",
        "log_start_offset",
        "partition",
        "record_errors",
        "required_offset",
    )

    def __init__(self, partition: Partition | None, acks: int) -> None:
        self.partition = partition
        self.acks = acks
        self.error: int = 0
        self.error_message: str | None = None
        self.record_errors: RecordErrors = ()
        self.base_offset = -1
        self.required_offset = -1
        self.log_append_time_ms = -1
        self.log_start_offset = -1
        self.done = False
        self._listener: Callable[[PendingAppend], None] | None = None

    def then(self, listener: Callable[[PendingAppend], None]) -> None:
        """Call `listener` when this is finished; at once if it already is. One listener only."""
        if self.done:
            listener(self)
        else:
            self._listener = listener

    def finish(self) -> None:
        """The result is final; call the listener. A second call has no effect."""
        if not self.done:
            self.done = True
            listener, self._listener = self._listener, None
            if listener is not None:
                listener(self)

    def fail(self, error: Error, message: str | None = None) -> None:
        """Finish with an error and without an offset."""
        if not self.done:
            if self.partition is not None:
                self.partition.stats.failed_produces += 1
            self.error = error
            self.error_message = message
            self.base_offset = -1
            self.log_append_time_ms = -1
            self.finish()

    def reject(self, error: KafkaError) -> None:
        """`fail` with the code and message of `error`, and with the records that caused it (KIP-467)."""
        if isinstance(error, InvalidRecords):
            self.record_errors = error.record_errors
        self.fail(error.error, error.message)

    def written(self, info: LogAppendInfo, error: KafkaError | None) -> None:
        """Called by storage: the batch is in the file (or is a duplicate), or could not be written (`error`)."""
        if error is not None:
            self.fail(error.error, error.message)
            return
        partition = self.partition
        if partition is not None and not info.duplicate:
            partition.stats.appended(info.size_bytes, info.last_offset - info.first_offset + 1)
        self.base_offset = info.first_offset
        self.log_append_time_ms = info.log_append_time_ms
        self.log_start_offset = info.log_start_offset
        if self.acks != ACKS_ALL:
            self.finish()
            return
        assert partition is not None
        self.required_offset = info.last_offset + 1
        if not partition.is_leader:
            self.fail(Error.NOT_LEADER_OR_FOLLOWER)
        elif self.required_offset <= partition.high_watermark:
            self.reach_high_watermark()
        else:
            partition.waiting_appends.append(self)

    def reach_high_watermark(self) -> None:
        """All in-sync replicas have the batch; it is still an error if the ISR is too small by now (acks=all)."""
        partition = self.partition
        assert partition is not None
        if partition.effective_min_isr > len(partition.maximal_isr):
            self.fail(
                Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
                f"{len(partition.maximal_isr)} replicas in sync, min.insync.replicas is {partition.effective_min_isr}",
            )
        else:
            self.finish()


def rejected(partition: Partition | None, error: Error, message: str | None = None) -> PendingAppend:
    """A pending append that is finished with `error`; nothing was written."""
    pending = PendingAppend(partition, 0)
    pending.done = True
    pending.error = error
    pending.error_message = message
    return pending
