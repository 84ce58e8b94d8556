"""OffsetForLeaderEpoch, versions 2 to 4: where a leader's reign ended (KIP-101, KIP-279, KIP-320).

Clients ask it to find out whether the log they read was truncated behind their back; followers of older brokers to find
where to cut. The answer is the largest known epoch not above the one asked for, and the offset where it ends; -1 and -1
when nothing is known of it.
"""

from __future__ import annotations

from collections.abc import Callable

from signalbox.common.long_work import breathe
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from signalbox.replication.hosted import HostedPartitions

EpochEndOffset = OffsetForLeaderEpochResponse.EpochEndOffset


def offsets_for_leader_epoch(
    hosted: HostedPartitions,
    request: OffsetForLeaderEpochRequest,
    authorize: Callable[[str], bool] | None = None,
) -> OffsetForLeaderEpochResponse:
    """The response; errors are per partition."""
    response = OffsetForLeaderEpochResponse()
    for topic in request.topics:
        denied = authorize is not None and not authorize(topic.topic)
        answers = []
        for asked in topic.partitions:
            breathe()
            if denied:
                refused = EpochEndOffset(partition=asked.partition, error_code=Error.TOPIC_AUTHORIZATION_FAILED)
                answers.append(refused)
            else:
                answers.append(_answer(hosted, topic.topic, asked))
        response.topics.append(
            OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(topic=topic.topic, partitions=answers)
        )
    return response


def _answer(
    hosted: HostedPartitions, topic: str, asked: OffsetForLeaderEpochRequest.OffsetForLeaderPartition
) -> EpochEndOffset:
    try:
        log = hosted.find(topic, asked.partition).local_log(asked.current_leader_epoch)
    except KafkaError as error:
        return EpochEndOffset(partition=asked.partition, error_code=error.error)
    epoch, end_offset = log.end_offset_for_epoch(asked.leader_epoch)
    return EpochEndOffset(partition=asked.partition, leader_epoch=epoch, end_offset=end_offset)
