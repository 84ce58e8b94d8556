"""Log directories: DescribeLogDirs and AlterReplicaLogDirs (KIP-113, KIP-827), each at the broker itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from signalbox.client.admin_apis.admin_call import AdminCall, AdminResult, left_ms, result_of
from signalbox.common.ids import TopicPartition, numbers_by_topic
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from signalbox.protocol.messages.describe_log_dirs import DescribeLogDirsRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLog:
    """The log of one replica in a directory. `is_future`: it will replace the current one when `offset_lag` is 0."""

    size_bytes: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDir:
    """One log directory of a broker; `error` is KAFKA_STORAGE_ERROR when it is offline. Sizes are -1 when unknown."""

    path: str
    error: Error
    total_bytes: int
    usable_bytes: int
    replicas: dict[TopicPartition, ReplicaLog]


class LogDirAdmin(AdminCall):
    async def describe_log_dirs(
        self,
        broker_ids: Sequence[int] | None = None,
        partitions: Sequence[TopicPartition] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> dict[int, dict[str, LogDir]]:
        """Log directories by broker and path, of all brokers unless they are named, with the replicas of all partitions
        unless they are named. KafkaError when a broker rejects the request, ClientFailure when one is down."""
        deadline = self.client.deadline(timeout_ms)
        message_type = DescribeLogDirsRequest
        topics = (
            None
            if partitions is None
            else [
                message_type.DescribableLogDirTopic(topic=topic, partitions=numbers)
                for topic, numbers in numbers_by_topic(partitions).items()
            ]
        )
        responses = await self._of_each_node(message_type(topics=topics), broker_ids, deadline)
        return {
            node_id: {
                row.log_dir: LogDir(
                    path=row.log_dir,
                    error=Error.of(row.error_code),
                    total_bytes=row.total_bytes,
                    usable_bytes=row.usable_bytes,
                    replicas={
                        TopicPartition(topic.name, replica.partition_index): ReplicaLog(
                            size_bytes=replica.partition_size,
                            offset_lag=replica.offset_lag,
                            is_future=replica.is_future_key,
                        )
                        for topic in row.topics
                        for replica in topic.partitions
                    },
                )
                for row in response.results
            }
            for node_id, response in responses.items()
        }

    async def alter_replica_log_dirs(
        self, broker_id: int, path_by_partition: Mapping[TopicPartition, str], *, timeout_ms: float | None = None
    ) -> dict[TopicPartition, AdminResult]:
        """Move a broker's replicas to other log directories of it; the result of each. Success means that the move has
        begun: `describe_log_dirs` shows its end."""
        deadline = self.client.deadline(timeout_ms)
        message_type = AlterReplicaLogDirsRequest
        by_path: dict[str, list[TopicPartition]] = {}
        for partition, path in path_by_partition.items():
            by_path.setdefault(path, []).append(partition)
        dirs = [
            message_type.AlterReplicaLogDir(
                path=path,
                topics=[
                    message_type.AlterReplicaLogDirTopic(name=topic, partitions=numbers)
                    for topic, numbers in numbers_by_topic(partitions).items()
                ],
            )
            for path, partitions in by_path.items()
        ]
        await self._known_nodes([broker_id], deadline)
        response = await self.client.request(broker_id, message_type(dirs=dirs), timeout_ms=left_ms(deadline))
        return {
            partition: result_of(str(partition), row.error_code, None)
            for topic in response.results
            for row in topic.partitions
            for partition in [TopicPartition(topic.topic_name, row.partition_index)]
        }
