"""Reading for a fetch: one pass over its partitions, within its byte limits.

The first batch of the first partition that has one is returned whatever the limits are, so that a reader always makes
progress (KIP-74); the other partitions share the bytes that are left. Consumers read up to the high watermark, or with
read_committed up to the last stable offset; followers up to the log end. If the reader's last epoch and offset do not
match this log, the entry has the point where the logs diverge (KIP-595's diverging epoch, version 12 and later).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from enum import IntEnum

from signalbox.common.cooperative_task import no_yield, yield_if_due
from signalbox.common.file_slice import IsResident, NotInPageCache
from signalbox.common.ids import ZERO_UUID
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.fetch import FetchResponse
from signalbox.replication.fetch.fetch_session import Entry, SessionPartition
from signalbox.replication.hosted_partitions import HostedPartitions
from signalbox.replication.isr.follower_progress import FollowerProgress
from signalbox.replication.partition import NO_EPOCH, Partition
from signalbox.replication.throttle import ReplicationThrottle
from signalbox.storage.log import EMPTY_SLICE, Log, LogSlice
from signalbox.storage.segments.transaction_index import AbortedTransaction

PartitionData = FetchResponse.PartitionData

_ERRORS_WITH_LEADER = frozenset({Error.NOT_LEADER_OR_FOLLOWER, Error.FENCED_LEADER_EPOCH})


class Isolation(IntEnum):
    """Up to where a reader may read; the first two are the numbers of the protocol."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1
    LOG_END = 2


_CLIENT_LEVELS = {0: Isolation.READ_UNCOMMITTED, 1: Isolation.READ_COMMITTED}


def client_isolation(level: int) -> Isolation:
    """The isolation level of a client's request. INVALID_REQUEST for any but the protocol's two levels."""
    isolation = _CLIENT_LEVELS.get(level)
    if isolation is None:
        raise KafkaError(Error.INVALID_REQUEST, f"isolation level {level} does not exist")
    return isolation


@dataclass(slots=True)
class FetchParams:
    """Parameters of one fetch, the same for all its partitions."""

    replica_id: int
    replica_epoch: int
    isolation: Isolation
    max_bytes: int
    min_bytes: int
    only_from_leader: bool
    with_current_leader: bool  # version 16 and later: errors have the current leader (KIP-951)
    skips_unchanged: bool  # an incremental session leaves out partitions without changes
    by_topic_id: bool = False  # version 13 and later (KIP-516)
    throttle: ReplicationThrottle | None = None  # for followers only
    is_resident: IsResident | None = None  # on the fast path: see `Log.read`

    @property
    def from_replica(self) -> bool:
        return self.replica_id >= 0


@dataclass(slots=True)
class FetchResult:
    """The result of one pass."""

    entries: list[Entry]
    size_bytes: int = 0
    completes_at_once: bool = False  # an error or a diverging epoch: the fetch must not wait


def visible_end(partition: Partition, log: Log, isolation: Isolation) -> int:
    """The end offset for a reader (exclusive)."""
    if isolation is Isolation.LOG_END:
        return log.log_end_offset
    if isolation is Isolation.READ_COMMITTED:
        return partition.last_stable_offset
    return log.high_watermark


def read_fast_path(
    partition: Partition,
    fetch_offset: int,
    max_bytes: int,
    isolation: Isolation,
    is_resident: IsResident | None = None,
) -> tuple[LogSlice, Sequence[AbortedTransaction]] | None:
    """A consumer's read on the fast path, which has checked `Partition.stamp`, and the aborted transactions for the
    response. None: take the general path, because there is nothing to read, or a disk to wait for. KafkaError below
    the log start."""
    log = partition.log
    if log is None or not partition.is_leader:
        return None
    end = log.high_watermark if isolation is Isolation.READ_UNCOMMITTED else log.last_stable_offset
    if fetch_offset >= end:
        return None
    try:
        log_slice = log.read(fetch_offset, max_bytes, end, is_resident=is_resident)
    except NotInPageCache:
        return None
    if isolation is Isolation.READ_UNCOMMITTED:
        return log_slice, ()
    return log_slice, log.aborted_transactions(fetch_offset, log_slice)


def read_all(
    hosted: HostedPartitions,
    partitions: list[SessionPartition],
    params: FetchParams,
    progress: FollowerProgress | None = None,
) -> FetchResult:
    """Read `partitions` once. `progress` records a follower's offsets (None: recorded before). Yields, except with a
    session."""
    result = FetchResult([])
    bytes_left = params.max_bytes
    for session_partition in partitions:
        if not params.skips_unchanged:
            yield_if_due()  # not with a session: another request may close it meanwhile
        if params.skips_unchanged and (partition := unchanged_partition(hosted, session_partition, params)) is not None:
            session_partition.mark_clean(partition)
            continue
        with no_yield() if params.skips_unchanged else nullcontext():
            data = _read_or_reject(hosted, session_partition, params, (bytes_left, result.size_bytes == 0), progress)
        size = len(data.records or b"")
        bytes_left = max(0, bytes_left - size)
        result.size_bytes += size
        if data.error_code or data.diverging_epoch.epoch >= 0:
            result.completes_at_once = True
        result.entries.append((session_partition, data))
    return result


def _read_or_reject(
    hosted: HostedPartitions,
    session_partition: SessionPartition,
    params: FetchParams,
    allowance: tuple[int, bool],
    progress: FollowerProgress | None,
) -> PartitionData:
    """One partition's entry of the response. `allowance`: bytes left, and whether one batch may exceed them. Yields."""
    try:
        partition = hosted.find(
            session_partition.topic, session_partition.key.partition, session_partition.key.topic_id
        )
        return read_partition(partition, session_partition, params, allowance, progress)
    except KafkaError as error:
        return rejection(hosted, session_partition, error.error, with_current_leader=params.with_current_leader)


_ERRORS_BEFORE_READ = frozenset(
    {Error.UNKNOWN_TOPIC_OR_PARTITION, Error.UNKNOWN_TOPIC_ID, Error.TOPIC_AUTHORIZATION_FAILED}
)


def rejection(
    hosted: HostedPartitions, session_partition: SessionPartition, error: Error, *, with_current_leader: bool
) -> PartitionData:
    """An entry with an error. As in Kafka, `aborted_transactions` is null for errors of the log."""
    data = PartitionData(
        partition_index=session_partition.key.partition,
        error_code=error,
        high_watermark=-1,
        aborted_transactions=[] if error in _ERRORS_BEFORE_READ else None,
        records=b"",
    )
    if with_current_leader and error in _ERRORS_WITH_LEADER:
        leader_id, leader_epoch = hosted.current_leader(session_partition.topic, session_partition.key.partition)
        data.current_leader = FetchResponse.LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
    return data


def read_partition(
    partition: Partition,
    session_partition: SessionPartition,
    params: FetchParams,
    allowance: tuple[int, bool],
    progress: FollowerProgress | None,
) -> PartitionData:
    """With `params.is_resident`: NotInPageCache. Yields."""
    log = partition.local_log(session_partition.current_leader_epoch, as_leader=params.only_from_leader)
    if params.from_replica and params.replica_id not in partition.followers:
        raise _no_replica(partition, params.replica_id, session_partition.current_leader_epoch)
    diverging = _diverging_epoch(log, session_partition)
    if diverging is None:
        _check_range(partition, log, session_partition.fetch_offset)
        if progress is not None:
            progress.record(partition, session_partition, params.replica_id, params.replica_epoch)
    end = visible_end(partition, log, params.isolation)
    max_bytes, min_one_batch = allowance
    limit = min(max_bytes, session_partition.max_bytes)
    log_slice = EMPTY_SLICE
    may_read = diverging is None and not _is_throttled(partition, params)
    if params.from_replica and log.corruption is not None:
        end = _intact_end(log.corruption.offset, session_partition.fetch_offset, end)
    if may_read and session_partition.fetch_offset < end and (limit > 0 or min_one_batch):
        log_slice = log.read(session_partition.fetch_offset, limit, end, min_one_batch, params.is_resident)
        if params.from_replica and len(log_slice):
            _record_sent(
                partition, log, session_partition, (params.replica_id, end), is_first_pass=progress is not None
            )
    aborted = None
    if params.isolation is Isolation.READ_COMMITTED:
        aborted = _aborted_transactions(log, session_partition.fetch_offset, log_slice)
    data = PartitionData(
        partition_index=session_partition.key.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=partition.last_stable_offset,
        log_start_offset=log.log_start_offset,
        aborted_transactions=aborted,
        records=log_slice.records,
    )
    if diverging is not None:
        data.diverging_epoch = diverging
    return data


def _no_replica(partition: Partition, broker_id: int, leader_epoch: int) -> KafkaError:
    """As in Kafka: with a leader epoch the broker may know of a change that this one has not received yet."""
    error = Error.UNKNOWN_LEADER_EPOCH if leader_epoch >= 0 else Error.NOT_LEADER_OR_FOLLOWER
    return KafkaError(error, f"broker {broker_id} is no replica of {partition.topic_partition}")


def _aborted_transactions(log: Log, fetch_offset: int, log_slice: LogSlice) -> list[FetchResponse.AbortedTransaction]:
    return [
        FetchResponse.AbortedTransaction(producer_id=aborted.producer_id, first_offset=aborted.first_offset)
        for aborted in log.aborted_transactions(fetch_offset, log_slice)
    ]


def _intact_end(corrupt_offset: int, fetch_offset: int, end: int) -> int:
    """The end offset for a follower of a log that is corrupt at `corrupt_offset`; a follower that is past that offset
    may read on. CORRUPT_MESSAGE for a fetch at `corrupt_offset`."""
    if fetch_offset == corrupt_offset:
        raise KafkaError(Error.CORRUPT_MESSAGE, f"corrupt at offset {corrupt_offset}")
    return min(end, corrupt_offset) if fetch_offset < corrupt_offset else end


def _record_sent(
    partition: Partition, log: Log, session_partition: SessionPartition, reader: tuple[int, int], *, is_first_pass: bool
) -> None:
    """Note that records are sent to a follower (`reader`: its id, and the end offset of its read). If it fetches the
    same offset again, it has usually lost its connection. Or it could not append the records: so they are checked
    here, and CORRUPT_MESSAGE is raised if they are corrupt. Yields."""
    replica_id, end = reader
    follower = partition.followers.get(replica_id)
    if follower is None:
        return
    if is_first_pass and follower.sent_offset == session_partition.fetch_offset:
        corruption = log.check_at(session_partition.fetch_offset, session_partition.max_bytes)
        if corruption is not None and corruption.offset < end:
            raise KafkaError(Error.CORRUPT_MESSAGE, f"{partition.topic_partition} is corrupt")
    follower.sent_offset = session_partition.fetch_offset


def _is_throttled(partition: Partition, params: FetchParams) -> bool:
    """Whether the throttle holds back a follower that is not in sync (KIP-73)."""
    if params.throttle is None or params.replica_id in partition.isr:
        return False
    return params.throttle.is_throttled(*partition.topic_partition)


def _diverging_epoch(log: Log, session_partition: SessionPartition) -> FetchResponse.EpochEndOffset | None:
    """Where the reader's log diverges from this one; None if it does not."""
    if session_partition.last_fetched_epoch < 0:
        return None
    epoch, end_offset = log.end_offset_for_epoch(session_partition.last_fetched_epoch)
    if epoch < 0 or end_offset < 0:
        raise KafkaError(Error.OFFSET_OUT_OF_RANGE)
    if epoch < session_partition.last_fetched_epoch or end_offset < session_partition.fetch_offset:
        return FetchResponse.EpochEndOffset(epoch=epoch, end_offset=end_offset)
    return None


def _check_range(partition: Partition, log: Log, fetch_offset: int) -> None:
    if fetch_offset > log.log_end_offset and not partition.is_leader:
        # A lagging replica cannot tell a future offset from a wrong one: the client must ask the leader.
        raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
    if not log.log_start_offset <= fetch_offset <= log.log_end_offset:
        raise KafkaError(Error.OFFSET_OUT_OF_RANGE)


def unchanged_partition(
    hosted: HostedPartitions, session_partition: SessionPartition, params: FetchParams
) -> Partition | None:
    """The partition, if it has no records and no changes for the reader (checked without an entry); else None."""
    partition = hosted.get(session_partition.topic, session_partition.key.partition)
    if partition is None or not partition.is_leader:
        return None
    log = partition.log
    unchanged = (
        log is not None
        and session_partition.current_leader_epoch in (partition.leader_epoch, NO_EPOCH)
        and session_partition.fetch_offset == visible_end(partition, log, params.isolation)
        and session_partition.last_sent_high_watermark == log.high_watermark
        and session_partition.last_sent_log_start_offset == log.log_start_offset
        and session_partition.key.topic_id in (partition.topic_id, ZERO_UUID)
        and session_partition.last_fetched_epoch in (-1, log.last_leader_epoch)
    )
    if unchanged and params.from_replica:
        unchanged = partition.touch_follower(
            params.replica_id, session_partition.fetch_offset, session_partition.log_start_offset, params.replica_epoch
        )
    return partition if unchanged else None
