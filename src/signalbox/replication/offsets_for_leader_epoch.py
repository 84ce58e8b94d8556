"""OffsetForLeaderEpoch, versions 2 to 4: the end offset of a leader epoch (KIP-101, KIP-279, KIP-320).

Clients use it to detect that the log they read was truncated; followers of older versions, to find their truncation
offset. The response is the largest known epoch that is not above the requested one, and its end offset; -1 and -1 if
there is none.
"""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.cooperative_task import yield_if_due
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from signalbox.replication.hosted_partitions import HostedPartitions

EpochEndOffset = OffsetForLeaderEpochResponse.EpochEndOffset


def offsets_for_leader_epoch(
    hosted: HostedPartitions,
    request: OffsetForLeaderEpochRequest,
    authorize: Callable[[str], bool] | None = None,
) -> OffsetForLeaderEpochResponse:
    """The response; errors are per partition. Yields."""
    response = OffsetForLeaderEpochResponse()
    for topic in request.topics:
        denied = authorize is not None and not authorize(topic.topic)
        results = []
        for request_partition in topic.partitions:
            yield_if_due()
            if denied:
                rejected = EpochEndOffset(
                    partition=request_partition.partition, error_code=Error.TOPIC_AUTHORIZATION_FAILED
                )
                results.append(rejected)
            else:
                results.append(_end_offset(hosted, topic.topic, request_partition))
        response.topics.append(
            OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(topic=topic.topic, partitions=results)
        )
    return response


def _end_offset(
    hosted: HostedPartitions, topic: str, request_partition: OffsetForLeaderEpochRequest.OffsetForLeaderPartition
) -> EpochEndOffset:
    try:
        log = hosted.find(topic, request_partition.partition).local_log(request_partition.current_leader_epoch)
    except KafkaError as error:
        return EpochEndOffset(partition=request_partition.partition, error_code=error.error)
    epoch, end_offset = log.end_offset_for_epoch(request_partition.leader_epoch)
    return EpochEndOffset(partition=request_partition.partition, leader_epoch=epoch, end_offset=end_offset)
