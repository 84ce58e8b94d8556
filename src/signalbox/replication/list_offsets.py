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

A search by timestamp may need a large batch decompressed, in a thread. Then the response comes later; partitions are
searched one after the other, so that a request holds one batch at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.limits import MAX_PARTITIONS_PER_TOPIC
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from signalbox.replication.fetch.fetch_read import Isolation, client_isolation, visible_end
from signalbox.replication.hosted_partitions import HostedPartitions
from signalbox.replication.partition import Partition
from signalbox.replication.produce.unpacking import Unpacking
from signalbox.storage.log import Log
from signalbox.storage.segments.timestamp_search import Search

_log = logging.getLogger(__name__)

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
_UNKNOWN = (-1, -1, -1)

TimestampAndOffset = tuple[int, int, int]  # timestamp, offset, leader epoch; -1 if unknown
PartitionResponse = ListOffsetsResponse.ListOffsetsPartitionResponse


def list_offsets(
    hosted: HostedPartitions,
    request: ListOffsetsRequest,
    version: int,
    authorize: Callable[[str], bool] | None = None,
) -> Unpacking[ListOffsetsResponse]:
    """The response, by `UnpackingQueue.run`; errors are per partition. Yields."""
    response = ListOffsetsResponse()
    duplicates = _duplicate_partitions(request)
    for topic in request.topics:
        denied = authorize is not None and not authorize(topic.name)
        results = []
        for request_partition in topic.partitions:
            yield_if_due()
            if denied:
                results.append(_rejection(request_partition.partition_index, Error.TOPIC_AUTHORIZATION_FAILED))
            elif (topic.name, request_partition.partition_index) in duplicates:
                results.append(_rejection(request_partition.partition_index, Error.INVALID_REQUEST))
            else:
                results.append(
                    (yield from _partition_response(hosted, topic.name, request_partition, request, version))
                )
        response.topics.append(ListOffsetsResponse.ListOffsetsTopicResponse(name=topic.name, partitions=results))
    return response


def find_offset(
    partition: Partition, timestamp: int, replica_id: int, isolation: Isolation, leader_epoch: int
) -> Unpacking[TimestampAndOffset]:
    """(timestamp, offset, leader epoch) for one partition. Raises KafkaError. Yields."""
    as_leader = replica_id != _DEBUGGING_ID
    for_client = replica_id == _CONSUMER_ID
    visible = isolation if for_client else Isolation.LOG_END
    log = partition.local_log(leader_epoch, as_leader=as_leader)
    end = visible_end(partition, log, visible)
    if timestamp == LATEST:
        if for_client and partition.high_watermark_lags:
            raise KafkaError(Error.OFFSET_NOT_AVAILABLE)
        return -1, end, partition.leader_epoch
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return -1, log.log_start_offset, log.epoch_of(log.log_start_offset)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return _UNKNOWN
    searched_epoch = partition.leader_epoch
    result = yield from _find_by_time(log, timestamp)
    # Other code ran during the search: another leader may have truncated the log.
    if partition.local_log(leader_epoch, as_leader=as_leader) is not log or partition.leader_epoch != searched_epoch:
        raise KafkaError(Error.NOT_LEADER_OR_FOLLOWER)
    if result is not None and result[1] < visible_end(partition, log, visible):
        return result
    if for_client and partition.high_watermark_lags:
        raise KafkaError(Error.OFFSET_NOT_AVAILABLE)
    return _UNKNOWN


def _find_by_time(log: Log, timestamp: int) -> Search:
    """Yields."""
    return log.offset_of_max_timestamp() if timestamp == MAX_TIMESTAMP else log.offset_for_timestamp(timestamp)


def _partition_response(
    hosted: HostedPartitions,
    topic: str,
    request_partition: ListOffsetsRequest.ListOffsetsPartition,
    request: ListOffsetsRequest,
    version: int,
) -> Unpacking[PartitionResponse]:
    """Yields."""
    index, wanted = request_partition.partition_index, request_partition.timestamp
    if wanted < 0 and version < _FROM_VERSION.get(wanted, version + 1):
        return _rejection(index, Error.UNSUPPORTED_VERSION)
    try:
        partition = hosted.find(topic, index)
        isolation = client_isolation(request.isolation_level)
        timestamp, offset, epoch = yield from find_offset(
            partition, wanted, request.replica_id, isolation, request_partition.current_leader_epoch
        )
    except KafkaError as error:
        if error.error is Error.OFFSET_NOT_AVAILABLE and version < _OFFSET_NOT_AVAILABLE_FROM_VERSION:
            return _rejection(index, Error.LEADER_NOT_AVAILABLE)
        return _rejection(index, error.error)
    except Exception:  # the search may continue in the scheduler: an error there would leave the connection muted
        _log.exception("Offset lookup failed unexpectedly (topic=%s, partition=%d)", topic, index)
        return _rejection(index, Error.UNKNOWN_SERVER_ERROR)
    if version < _LEADER_EPOCH_FROM_VERSION:
        epoch = -1
    return PartitionResponse(partition_index=index, timestamp=timestamp, offset=offset, leader_epoch=epoch)


def _rejection(index: int, error: Error) -> PartitionResponse:
    return PartitionResponse(partition_index=index, error_code=error)


def _duplicate_partitions(request: ListOffsetsRequest) -> set[tuple[str, int]]:
    """Partitions that are in the request more than once. Only indexes that a topic can have are checked: others are
    unknown anyway, and a set of half a million numbers would take too long to build. Yields."""
    duplicates: set[tuple[str, int]] = set()
    indexes_by_topic: dict[str, bytearray] = {}
    for topic in request.topics:
        indexes = indexes_by_topic.get(topic.name)
        if indexes is None:
            indexes = indexes_by_topic[topic.name] = bytearray(MAX_PARTITIONS_PER_TOPIC)
        for request_partition in topic.partitions:
            yield_if_due()
            index = request_partition.partition_index
            if 0 <= index < MAX_PARTITIONS_PER_TOPIC:
                if indexes[index]:
                    duplicates.add((topic.name, index))
                indexes[index] = 1
    return duplicates
