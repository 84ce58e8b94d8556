"""One partition's share of a produce request, from the queued append to its answer.

A ticket is finished when its batch is in the file (acks 0 and 1) or below the high watermark (acks=all). The field
names are those of ProduceResponse's partition entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.append_info import LogAppendInfo

if TYPE_CHECKING:
    from signalbox.replication.partition import Partition

ACKS_ALL = -1

RecordErrors = tuple[tuple[int, str | None], ...]


class AppendTicket:
    """An append that was queued or refused. `error` is final only when `done`."""

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
        self._listener: Callable[[AppendTicket], None] | None = None

    def then(self, listener: Callable[[AppendTicket], None]) -> None:
        """Call `listener` when the ticket is finished: at once when it already is. One listener."""
        if self.done:
            listener(self)
        else:
            self._listener = listener

    def finish(self) -> None:
        """The answer stands as it is. A second call changes nothing."""
        if not self.done:
            self.done = True
            listener, self._listener = self._listener, None
            if listener is not None:
                listener(self)

    def fail(self, error: Error, message: str | None = None) -> None:
        """Finish with an error: no offset is promised."""
        if not self.done:
            self.error = error
            self.error_message = message
            self.base_offset = -1
            self.log_append_time_ms = -1
            self.finish()

    def written(self, info: LogAppendInfo, error: KafkaError | None) -> None:
        """Storage's answer: the batch is in the file (or was there before), or could not be written."""
        if error is not None:
            self.fail(error.error, error.message)
            return
        self.base_offset = info.first_offset
        self.log_append_time_ms = info.log_append_time_ms
        self.log_start_offset = info.log_start_offset
        if self.acks != ACKS_ALL:
            self.finish()
            return
        partition = self.partition
        assert partition is not None
        self.required_offset = info.last_offset + 1
        if not partition.is_leader:
            self.fail(Error.NOT_LEADER_OR_FOLLOWER)
        elif self.required_offset <= partition.high_watermark:
            self.reach_high_watermark()
        else:
            partition.waiting_appends.append(self)

    def reach_high_watermark(self) -> None:
        """All replicas in sync have the batches; too few in sync by now is still an error (acks=all's promise)."""
        partition = self.partition
        assert partition is not None
        if partition.effective_min_isr > len(partition.maximal_isr):
            self.fail(
                Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
                f"{len(partition.maximal_isr)} replicas in sync, min.insync.replicas is {partition.effective_min_isr}",
            )
        else:
            self.finish()


def refused(partition: Partition | None, error: Error, message: str | None = None) -> AppendTicket:
    """A ticket that is finished with `error` before anything was written."""
    ticket = AppendTicket(partition, 0)
    ticket.done = True
    ticket.error = error
    ticket.error_message = message
    return ticket
