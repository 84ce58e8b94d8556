"""DescribeLogDirs (key 35): the partitions in this broker's log directories and their sizes. KIP-113, KIP-827;
versions 1-5.

Needs DESCRIBE on the cluster; without it no directory is listed, and versions before 3 have no field for the error.
Partitions that this broker does not have are left out. A failed directory is KAFKA_STORAGE_ERROR. A replica that is
being moved is listed in its present directory, and as a future replica with its offset lag in the target directory. No
directory is cordoned.
"""

from __future__ import annotations

import os
from collections.abc import Container

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.authorization import may_on_cluster
from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer
from signalbox.storage.directories.log_directory import LogDirectory
from signalbox.storage.directories.log_move import LogMove
from signalbox.storage.log import Log
from signalbox.storage.log_manager import LogManager

_Result = DescribeLogDirsResponse.DescribeLogDirsResult
_Topic = DescribeLogDirsResponse.DescribeLogDirsTopic
_Partition = DescribeLogDirsResponse.DescribeLogDirsPartition


class DescribeLogDirsHandler:
    def __init__(self, logs: LogManager, authorizer: Authorizer) -> None:
        self._logs = logs
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        if not may_on_cluster(self._authorizer, request.context, AclOperation.DESCRIBE):
            return DescribeLogDirsResponse(error_code=Error.CLUSTER_AUTHORIZATION_FAILED)
        return self._describe(request.body)

    def _describe(self, body: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        """Yields."""
        requested = None if body.topics is None else _named(body)
        topics: dict[str, dict[str, list[_Partition]]] = {directory.path: {} for directory in self._logs.directories}
        for log in self._logs:  # iterates over a copy: logs may be added or removed meanwhile
            yield_if_due()
            if (requested is None or log.topic_partition in requested) and log.online:
                partitions = topics[log.body.directory.path].setdefault(log.topic_partition.topic, [])
                partitions.append(_partition(log))
        for move in self._logs.moves:
            if (requested is None or move.log.topic_partition in requested) and move.target.online:
                partitions = topics[move.target.path].setdefault(move.log.topic_partition.topic, [])
                partitions.append(_future(move))
        return DescribeLogDirsResponse(
            results=[_result(directory, topics[directory.path]) for directory in self._logs.directories]
        )


def _named(body: DescribeLogDirsRequest) -> Container[TopicPartition]:
    return {TopicPartition(topic.topic, number) for topic in body.topics or () for number in topic.partitions}


def _partition(log: Log) -> _Partition:
    return _Partition(partition_index=log.topic_partition.partition, partition_size=log.size_bytes)


def _future(move: LogMove) -> _Partition:
    return _Partition(
        partition_index=move.log.topic_partition.partition,
        partition_size=move.size_bytes,
        offset_lag=move.offset_lag,
        is_future_key=True,
    )


def _result(directory: LogDirectory, topics: dict[str, list[_Partition]]) -> _Result:
    if not directory.online:
        return _Result(error_code=Error.KAFKA_STORAGE_ERROR, log_dir=directory.path)
    try:
        volume = os.statvfs(directory.path)
    except OSError:
        return _Result(error_code=Error.KAFKA_STORAGE_ERROR, log_dir=directory.path)
    return _Result(
        log_dir=directory.path,
        topics=[_Topic(name=name, partitions=partitions) for name, partitions in topics.items()],
        total_bytes=volume.f_frsize * volume.f_blocks,
        usable_bytes=volume.f_frsize * volume.f_bavail,
    )
