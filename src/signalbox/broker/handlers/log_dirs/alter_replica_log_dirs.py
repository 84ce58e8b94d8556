"""AlterReplicaLogDirs (key 34): moves replicas between the log directories of this broker. KIP-113; versions 1-2.

Needs ALTER on the cluster. The response is sent when the move has begun; DescribeLogDirs returns its progress. A
replica that this broker does not have is REPLICA_NOT_AVAILABLE, or UNKNOWN_TOPIC_OR_PARTITION if no broker has it, and
will be created in that directory if it is assigned later.
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.authorization import may_on_cluster
from signalbox.common.cooperative_task import yield_if_due
from signalbox.common.ids import TopicPartition
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer
from signalbox.storage.log_manager import LogManager

_Topic = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
_Partition = AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult


class AlterReplicaLogDirsHandler:
    def __init__(self, logs: LogManager, cache: MetadataCache, authorizer: Authorizer) -> None:
        self._logs = logs
        self._cache = cache
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        body: AlterReplicaLogDirsRequest = request.body
        allowed = may_on_cluster(self._authorizer, request.context, AclOperation.ALTER)
        results: dict[str, dict[int, Error]] = {}  # a partition that is named twice has one result, as in Kafka
        for directory in body.dirs:
            for topic in directory.topics:
                for number in topic.partitions:
                    yield_if_due()
                    error = Error.CLUSTER_AUTHORIZATION_FAILED
                    if allowed:
                        error = self._move(TopicPartition(topic.name, number), directory.path)
                    results.setdefault(topic.name, {})[number] = error
        return AlterReplicaLogDirsResponse(results=[_result(name, errors) for name, errors in results.items()])

    def _move(self, topic_partition: TopicPartition, path: str) -> Error:
        try:
            self._logs.moves.move(topic_partition, path)
        except KafkaError as rejection:
            if rejection.error is Error.REPLICA_NOT_AVAILABLE and not self._exists(topic_partition):
                return Error.UNKNOWN_TOPIC_OR_PARTITION
            return rejection.error
        return Error.NONE

    def _exists(self, topic_partition: TopicPartition) -> bool:
        topic = self._cache.image.topics.get(topic_partition.topic)
        return topic is not None and topic_partition.partition in topic.partitions


def _result(name: str, errors: dict[int, Error]) -> _Topic:
    return _Topic(
        topic_name=name,
        partitions=[_Partition(partition_index=number, error_code=error) for number, error in errors.items()],
    )
