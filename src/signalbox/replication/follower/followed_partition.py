"""One partition that this broker follows: its next fetch offset, and how a fetch response changes its log.

A fetch has an offset and the log's last epoch. The leader returns records, or the point where the logs diverge; the
log is then truncated there (no separate request as before KIP-595). Records go from the receive buffer into the log;
then the leader's high watermark and log start are applied, never beyond the end of this log.
"""

from __future__ import annotations

from signalbox.protocol.messages.fetch import FetchResponse
from signalbox.replication.follower.truncation import check_truncation, truncation_offset
from signalbox.replication.partition import Partition
from signalbox.storage.log import Log

FIRST_BACKOFF_MS = 10.0


class FollowedPartition:
    """Fetch state at one leader epoch; a new LeaderAndIsr creates a new one."""

    __slots__ = (
        "backoff_ms",
        "fetch_offset",
        "lag",
        "last_fetched_epoch",
        "leader_epoch",
        "log",
        "partition",
        "rejects_truncation",
        "removed",
        "requested",
        "sent_log_start_offset",
    )

    def __init__(self, partition: Partition, log: Log) -> None:
        self.partition = partition
        self.log = log
        self.leader_epoch = partition.leader_epoch
        self.removed = False  # no longer followed at this leader epoch: late responses are ignored
        self.requested = False  # a fetch with this state was sent: responses are for it
        self.rejects_truncation = False  # it keeps records that its leader has lost; logged once
        self.lag = 0  # records behind the leader's high watermark, as of the last response
        self.backoff_ms = FIRST_BACKOFF_MS
        self.fetch_offset = log.log_end_offset
        self.last_fetched_epoch = log.last_leader_epoch
        self.sent_log_start_offset = -1  # in the last request that had the partition

    @property
    def key(self) -> tuple[bytes, int]:
        """Topic id and partition, as in Fetch version 13 and later."""
        return self.partition.topic_id, self.partition.topic_partition.partition

    @property
    def backs_off(self) -> bool:
        """Whether the last response already led to an error."""
        return self.backoff_ms > FIRST_BACKOFF_MS

    def append_records(self, data: FetchResponse.PartitionData) -> None:
        """Append the records, if there are any. Raises KafkaError. Call `finish` when all partitions have theirs."""
        if data.records:
            self.log.append_as_follower(data.records, leader_epoch=self.leader_epoch)

    def finish(self, data: FetchResponse.PartitionData) -> bool:
        """After the write: update high watermark, log start and next offset; True if the next fetch differs."""
        log = self.log
        error = log.complete_group()
        if error is not None:
            raise error
        self.backoff_ms = FIRST_BACKOFF_MS
        before = (self.fetch_offset, self.last_fetched_epoch)
        self.partition.follow_leader(data.high_watermark, data.log_start_offset)
        self.fetch_offset = log.log_end_offset
        self.last_fetched_epoch = log.last_leader_epoch
        self.lag = max(0, data.high_watermark - self.fetch_offset)
        if before != (self.fetch_offset, self.last_fetched_epoch):
            return True
        # A DeleteRecords on the leader waits for the log start, which this broker's own retention moves, too.
        return log.log_start_offset != self.sent_log_start_offset

    def truncate_diverging(self, epoch: int, end_offset: int) -> int:
        """Truncate the log where it diverges from the leader's; returns the new log end. Raises LossNotAccepted."""
        offset = truncation_offset(self.log, epoch, end_offset)
        self._truncate_to(offset)
        self.fetch_offset = self.log.log_end_offset
        self.last_fetched_epoch = self.log.last_leader_epoch
        return self.fetch_offset

    def reset_to_leader_offsets(self, leader_start_offset: int, leader_end_offset: int) -> None:
        """The leader does not have `fetch_offset`: restart at the leader's log start, or truncate to its log end (the
        leader was elected although it was not in sync). Raises LossNotAccepted."""
        log = self.log
        if leader_end_offset < log.log_end_offset:
            self._truncate_to(leader_end_offset)
        elif leader_start_offset > log.log_end_offset:
            self.partition.truncate_fully_and_start_at(leader_start_offset)
        if log.log_end_offset < leader_start_offset:
            self.partition.truncate_fully_and_start_at(leader_start_offset)
        self.fetch_offset = log.log_end_offset
        self.last_fetched_epoch = log.last_leader_epoch

    def _truncate_to(self, offset: int) -> None:
        partition = self.partition
        check_truncation(self.log, offset, partition.unclean_epoch, partition.settings.unclean_leader_election)
        partition.truncate_to(offset)

    def next_backoff_ms(self, longest_ms: float) -> float:
        """The backoff of the partition after an error; it doubles each time, up to `longest_ms`."""
        backoff_ms = min(self.backoff_ms, longest_ms)
        self.backoff_ms = backoff_ms * 2
        return backoff_ms
