"""Reading for a fetch: one pass over its partitions, under its byte limits.

The first batch of the first partition that has any is given whatever the limits say, so that a reader always gets on
(KIP-74); after that a partition gets what is left of the whole. Consumers read up to the high watermark, or the
last stable offset when they read committed only; followers up to the log's end. An offset or epoch that the log cannot
vouch for is answered with the point where the logs part (KIP-595's diverging epoch, version 12 and later).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from signalbox.common.ids import ZERO_UUID
from signalbox.common.long_work import breathe
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.fetch import FetchResponse
from signalbox.replication.fetch_session import SessionPartition
from signalbox.replication.follower_progress import FollowerProgress
from signalbox.replication.hosted import HostedPartitions
from signalbox.replication.partition import NO_EPOCH, Partition
from signalbox.replication.throttle import ReplicationThrottle
from signalbox.storage.append_info import EMPTY_SLICE, LogSlice
from signalbox.storage.log import Log

PartitionData = FetchResponse.PartitionData
Entry = tuple[SessionPartition, PartitionData]

_TELL_LEADER = frozenset({Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH})


class Isolation(IntEnum):
    """How far a reader may see; the first two are the wire's numbers."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1
    LOG_END = 2


_OF_CLIENTS = {0: Isolation.READ_UNCOMMITTED, 1: Isolation.READ_COMMITTED}


def client_isolation(level: int) -> Isolation:
    """What a client asks for. INVALID_REQUEST for anything but the wire's two levels."""
    isolation = _OF_CLIENTS.get(level)
    if isolation is None:
        raise KafkaError(Error.INVALID_REQUEST, f"isolation level {level} does not exist")
    return isolation


@dataclass(slots=True)
class FetchParams:
    """What holds for all partitions of one fetch."""

    replica_id: int
    replica_epoch: int
    isolation: Isolation
    max_bytes: int
    min_bytes: int
    only_from_leader: bool
    tells_leader: bool  # version 16 and later: errors carry the current leader (KIP-951)
    skips_quiet: bool  # an incremental session leaves out what has no news
    by_topic_id: bool = False  # version 13 and later (KIP-516)
    throttle: ReplicationThrottle | None = None  # of followers alone

    @property
    def from_replica(self) -> bool:
        return self.replica_id >= 0


@dataclass(slots=True)
class FetchResult:
    """What one pass found."""

    entries: list[Entry]
    size_bytes: int = 0
    at_once: bool = False  # an error or a diverging epoch: no use in waiting


def visible_end(partition: Partition, log: Log, isolation: Isolation) -> int:
    """The offset at which a reader must stop."""
    if isolation is Isolation.LOG_END:
        return log.log_end_offset
    if isolation is Isolation.READ_COMMITTED:
        return partition.last_stable_offset
    return log.high_watermark


def read_hot(partition: Partition, fetch_offset: int, max_bytes: int, isolation: Isolation) -> LogSlice | None:
    """A consumer's read from a leader whose epoch has been checked by its stamp; None: take the generic path."""
    log = partition.log
    if log is None or not partition.is_leader:
        return None
    end = log.high_watermark if isolation is Isolation.READ_UNCOMMITTED else partition.last_stable_offset
    if not log.log_start_offset <= fetch_offset < end:
        return None
    return log.read(fetch_offset, max_bytes, end)


def read_all(
    hosted: HostedPartitions,
    partitions: list[SessionPartition],
    params: FetchParams,
    progress: FollowerProgress | None = None,
) -> FetchResult:
    """One pass over `partitions`. `progress` takes note of a follower's offsets, when it has just sent them."""
    result = FetchResult([])
    left = params.max_bytes
    for asked in partitions:
        if not params.skips_quiet:
            breathe()  # a session may be closed by others meanwhile, so its fetches do not
        if params.skips_quiet and (partition := _quiet_partition(hosted, asked, params)) is not None:
            asked.rest(partition)
            continue
        data = _answer(hosted, asked, params, (left, result.size_bytes == 0), progress)
        size = len(data.records or b"")
        left = max(0, left - size)
        result.size_bytes += size
        if data.error_code or data.diverging_epoch.epoch >= 0:
            result.at_once = True
        result.entries.append((asked, data))
    return result


def _answer(
    hosted: HostedPartitions,
    asked: SessionPartition,
    params: FetchParams,
    allowance: tuple[int, bool],
    progress: FollowerProgress | None,
) -> PartitionData:
    """One partition's entry of the response. `allowance`: bytes left, and whether one batch may exceed them."""
    try:
        partition = hosted.find(asked.topic, asked.key.partition, asked.key.topic_id)
        return _read(partition, asked, params, allowance, progress)
    except KafkaError as error:
        return refusal(hosted, asked, error.error, tells_leader=params.tells_leader)


def refusal(hosted: HostedPartitions, asked: SessionPartition, error: Error, *, tells_leader: bool) -> PartitionData:
    """An entry that carries an error."""
    data = PartitionData(
        partition_index=asked.key.partition, error_code=error, high_watermark=-1, aborted_transactions=[], records=b""
    )
    if tells_leader and error in _TELL_LEADER:
        leader_id, leader_epoch = hosted.current_leader(asked.topic, asked.key.partition)
        data.current_leader = FetchResponse.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
    return data


def _read(
    partition: Partition,
    asked: SessionPartition,
    params: FetchParams,
    allowance: tuple[int, bool],
    progress: FollowerProgress | None,
) -> PartitionData:
    log = partition.local_log(asked.current_leader_epoch, as_leader=params.only_from_leader)
    diverging = _diverging_epoch(log, asked)
    if diverging is None:
        _check_range(partition, log, asked.fetch_offset)
        if progress is not None:
            progress.record(partition, asked, params.replica_id, params.replica_epoch)
    end = visible_end(partition, log, params.isolation)
    max_bytes, min_one_batch = allowance
    limit = min(max_bytes, asked.max_bytes)
    found = EMPTY_SLICE
    may_read = diverging is None and not _is_held_back(partition, params)
    if may_read and asked.fetch_offset < end and (limit > 0 or min_one_batch):
        found = log.read(asked.fetch_offset, limit, end, min_one_batch)
    data = PartitionData(
        partition_index=asked.key.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=partition.last_stable_offset,
        log_start_offset=log.log_start_offset,
        aborted_transactions=[] if params.isolation is Isolation.READ_COMMITTED else None,
        records=found.records,
    )
    if diverging is not None:
        data.diverging_epoch = diverging
    return data


def _is_held_back(partition: Partition, params: FetchParams) -> bool:
    """Whether a follower that catches up gets nothing this time (KIP-73)."""
    if params.throttle is None or params.replica_id in partition.isr:
        return False
    return params.throttle.holds_back(*partition.topic_partition)


def _diverging_epoch(log: Log, asked: SessionPartition) -> FetchResponse.EpochEndOffset | None:
    """Where the reader's log leaves this one, None when it does not."""
    if asked.last_fetched_epoch < 0:
        return None
    epoch, end_offset = log.end_offset_for_epoch(asked.last_fetched_epoch)
    if epoch < 0 or end_offset < 0:
        raise KafkaError(Error.OFFSET_OUT_OF_RANGE)
    if epoch < asked.last_fetched_epoch or end_offset < asked.fetch_offset:
        return FetchResponse.EpochEndOffset(epoch=epoch, end_offset=end_offset)
    return None


def _check_range(partition: Partition, log: Log, fetch_offset: int) -> None:
    if fetch_offset > log.log_end_offset and not partition.is_leader:
        # A replica that lags cannot tell an offset of the future from a wrong one: the client shall ask the leader.
        raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
    if not log.log_start_offset <= fetch_offset <= log.log_end_offset:
        raise KafkaError(Error.OFFSET_OUT_OF_RANGE)


def _quiet_partition(hosted: HostedPartitions, asked: SessionPartition, params: FetchParams) -> Partition | None:
    """The partition, if there is nothing to read in it and nothing to tell of it, seen without building an answer."""
    partition = hosted.get(asked.topic, asked.key.partition)
    if partition is None or not partition.is_leader:
        return None
    log = partition.log
    quiet = (
        log is not None
        and asked.current_leader_epoch in (partition.leader_epoch, NO_EPOCH)
        and asked.fetch_offset == visible_end(partition, log, params.isolation)
        and asked.told_high_watermark == log.high_watermark
        and asked.told_log_start_offset == log.log_start_offset
        and asked.key.topic_id in (partition.topic_id, ZERO_UUID)
        and asked.last_fetched_epoch in (-1, log.last_leader_epoch)
    )
    if quiet and params.from_replica:
        quiet = partition.touch_follower(
            params.replica_id, asked.fetch_offset, asked.log_start_offset, params.replica_epoch
        )
    return partition if quiet else None
