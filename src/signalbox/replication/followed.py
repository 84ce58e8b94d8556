"""One partition that this broker follows: what it fetches next, and what an answer does to its log.

The next fetch says "from this offset, my last epoch is that"; the leader answers with records, or with the point
where the logs part, and then the log is cut there (no separate question as before KIP-595). Records go from the
receive buffer into the log; the leader's high watermark and log start follow, never beyond what is here.
"""

from __future__ import annotations

from signalbox.protocol.messages.fetch import FetchResponse
from signalbox.replication.partition import Partition
from signalbox.replication.truncation import truncation_offset
from signalbox.storage.log import Log

FIRST_BACKOFF_MS = 10.0


class FollowedPartition:
    """Fetch state under one leader epoch; a new LeaderAndIsr makes a new one."""

    __slots__ = (
        "backoff_ms",
        "fetch_offset",
        "lag",
        "last_fetched_epoch",
        "leader_epoch",
        "log",
        "partition",
        "removed",
        "told",
    )

    def __init__(self, partition: Partition, log: Log) -> None:
        self.partition = partition
        self.log = log
        self.leader_epoch = partition.leader_epoch
        self.removed = False  # no longer followed under this leader epoch: late answers are not for it
        self.told = False  # the leader knows this state: its answers are for it
        self.lag = 0  # records behind the leader's high watermark, as of the last answer
        self.backoff_ms = FIRST_BACKOFF_MS
        self.fetch_offset = log.log_end_offset
        self.last_fetched_epoch = log.last_leader_epoch

    @property
    def key(self) -> tuple[bytes, int]:
        """The partition as version 13 and later name it."""
        return self.partition.topic_id, self.partition.topic_partition.partition

    def take_records(self, data: FetchResponse.PartitionData) -> None:
        """Append what came, if anything. Raises KafkaError. `finish` follows when all partitions have got theirs."""
        if data.records:
            self.log.append_as_follower(data.records)

    def finish(self, data: FetchResponse.PartitionData) -> bool:
        """After the write: high watermark, log start, next offset; True when the next fetch differs from this one."""
        log = self.log
        error = log.complete_group()
        if error is not None:
            raise error
        self.backoff_ms = FIRST_BACKOFF_MS
        before = (self.fetch_offset, self.last_fetched_epoch, log.log_start_offset)
        self.partition.follow_leader(data.high_watermark, data.log_start_offset)
        self.fetch_offset = log.log_end_offset
        self.last_fetched_epoch = log.last_leader_epoch
        self.lag = max(0, data.high_watermark - self.fetch_offset)
        # The log start is news too: a DeleteRecords on the leader waits to hear of it.
        return before != (self.fetch_offset, self.last_fetched_epoch, log.log_start_offset)

    def diverge(self, epoch: int, end_offset: int) -> int:
        """Cut the log where it leaves the leader's; gives the offset."""
        offset = truncation_offset(self.log, epoch, end_offset)
        self.partition.truncate_to(offset)
        self.fetch_offset = self.log.log_end_offset
        self.last_fetched_epoch = self.log.last_leader_epoch
        return self.fetch_offset

    def relocate(self, leader_start_offset: int, leader_end_offset: int) -> None:
        """The leader does not have `fetch_offset`: begin where its log begins, or end where it ends (the leader was
        elected although it was not in sync)."""
        log = self.log
        if leader_end_offset < log.log_end_offset:
            self.partition.truncate_to(leader_end_offset)
        elif leader_start_offset > log.log_end_offset:
            self.partition.truncate_fully_and_start_at(leader_start_offset)
        if log.log_end_offset < leader_start_offset:
            self.partition.truncate_fully_and_start_at(leader_start_offset)
        self.fetch_offset = log.log_end_offset
        self.last_fetched_epoch = log.last_leader_epoch

    def next_backoff_ms(self, longest_ms: float) -> float:
        """How long to leave the partition alone after an error: longer each time."""
        backoff_ms = min(self.backoff_ms, longest_ms)
        self.backoff_ms = backoff_ms * 2
        return backoff_ms
