"""ListOffsets, versions 1 to 11: log start, log end and offsets by timestamp.

    timestamp   from version   meaning                                 response
    ---------   ------------   -------------------------------------   ------------------------------------------
    -1          1              latest                                  high watermark or last stable offset; log end
                                                                       for brokers and debugging tools
    -2          1              earliest                                log start offset
    -3          7              of the largest timestamp (KIP-734)      that record's batch end
    -4          8              earliest local (KIP-405)                log start offset: nothing is tiered
    -5          9              latest tiered (KIP-1005)                -1: nothing is tiered
    -6          11             earliest pending upload (KIP-1023)      -1: nothing is tiered
    >= 0        1              first record at or after that time      its offset and timestamp, -1 when none

A new leader that does not yet know its predecessor's high watermark returns OFFSET_NOT_AVAILABLE to clients
(LEADER_NOT_AVAILABLE before version 5), not an end offset below one that clients got before (KIP-207; Spark takes a
decreasing end offset for data loss).
"""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.limits import MAX_PARTITIONS_PER_TOPIC
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from signalbox.replication.fetch_read import Isolation, client_isolation, visible_end
from signalbox.replication.hosted import HostedPartitions
from signalbox.replication.partition import Partition
from signalbox.storage.log import Log

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6

_FROM_VERSION = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_LEADER_EPOCH_FROM_VERSION = 4
_OFFSET_NOT_AVAILABLE_FROM_VERSION = 5
_CONSUMER_ID = -1
_DEBUGGING_ID = -2
_NOTHING = (-1, -1, -1)

Found = tuple[int, int, int]  # timestamp, offset, leader epoch; -1 if unknown
PartitionResponse = ListOffsetsResponse.ListOffsetsPartitionResponse


def list_offsets(
    hosted: HostedPartitions,
    request: ListOffsetsRequest,
    version: int,
    authorize: Callable[[str], bool] | None = None,
) -> ListOffsetsResponse:
    """The response; errors are per partition. Yields."""
    response = ListOffsetsResponse()
    repeated = _repeated_partitions(request)
    for topic in request.topics:
        denied = authorize is not None and not authorize(topic.name)
        answers = []
        for asked in topic.partitions:
            yield_if_due()
            if denied:
                answers.append(_rejection(asked.partition_index, Error.TOPIC_AUTHORIZATION_FAILED))
            elif (topic.name, asked.partition_index) in repeated:
                answers.append(_rejection(asked.partition_index, Error.INVALID_REQUEST))
            else:
                answers.append(_answer(hosted, topic.name, asked, request, version))
        response.topics.append(ListOffsetsResponse.ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    return response


def find_offset(
    partition: Partition, timestamp: int, replica_id: int, isolation: Isolation, leader_epoch: int
) -> Found:
    """(timestamp, offset, leader epoch) for one partition. Raises KafkaError."""
    log = partition.local_log(leader_epoch, as_leader=replica_id != _DEBUGGING_ID)
    for_client = replica_id == _CONSUMER_ID
    end = visible_end(partition, log, isolation if for_client else Isolation.LOG_END)
    if timestamp == LATEST:
        if for_client and partition.high_watermark_lags:
            raise KafkaError(Error.OFFSET_NOT_AVAILABLE)
        return -1, end, partition.leader_epoch
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return -1, log.log_start_offset, log.epoch_of(log.log_start_offset)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return _NOTHING
    found = _by_time(log, timestamp)
    if found is not None and found[1] < end:
        return found
    if for_client and partition.high_watermark_lags:
        raise KafkaError(Error.OFFSET_NOT_AVAILABLE)
    return _NOTHING


def _by_time(log: Log, timestamp: int) -> Found | None:
    return log.offset_of_max_timestamp() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp)


def _answer(
    hosted: HostedPartitions,
    topic: str,
    asked: ListOffsetsRequest.ListOffsetsPartition,
    request: ListOffsetsRequest,
    version: int,
) -> PartitionResponse:
    index = asked.partition_index
    if asked.timestamp < 0 and version < _FROM_VERSION.get(asked.timestamp, version + 1):
        return _rejection(index, Error.UNSUPPORTED_VERSION)
    try:
        partition = hosted.find(topic, index)
        isolation = client_isolation(request.isolation_level)
        timestamp, offset, epoch = find_offset(
            partition, asked.timestamp, request.replica_id, isolation, asked.current_leader_epoch
        )
    except KafkaError as error:
        if error.error is Error.OFFSET_NOT_AVAILABLE and version < _OFFSET_NOT_AVAILABLE_FROM_VERSION:
            return _rejection(index, Error.LEADER_NOT_AVAILABLE)
        return _rejection(index, error.error)
    if version < _LEADER_EPOCH_FROM_VERSION:
        epoch = -1
    return PartitionResponse(partition_index=index, timestamp=timestamp, offset=offset, leader_epoch=epoch)


def _rejection(index: int, error: Error) -> PartitionResponse:
    return PartitionResponse(partition_index=index, error_code=error)


def _repeated_partitions(request: ListOffsetsRequest) -> set[tuple[str, int]]:
    """Partitions that are in the request more than once. Only indexes that a topic can have are checked: others are
    unknown anyway, and a set of half a million numbers would take too long to build. Yields."""
    repeated: set[tuple[str, int]] = set()
    seen: dict[str, bytearray] = {}
    for topic in request.topics:
        named = seen.get(topic.name)
        if named is None:
            named = seen[topic.name] = bytearray(MAX_PARTITIONS_PER_TOPIC)
        for asked in topic.partitions:
            yield_if_due()
            index = asked.partition_index
            if 0 <= index < MAX_PARTITIONS_PER_TOPIC:
                if named[index]:
                    repeated.add((topic.name, index))
                named[index] = 1
    return repeated
