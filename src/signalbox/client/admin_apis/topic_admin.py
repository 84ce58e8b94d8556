"""Changes and descriptions of topics: CreateTopics, DeleteTopics, CreatePartitions, Metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from signalbox.client.admin_apis.admin_call import AdminCall, AdminResult, only, result_of
from signalbox.client.cluster.metadata_view import MetadataView, TopicView
from signalbox.client.connection.connection import ClientConnection
from signalbox.client.failures import VersionUnsupported
from signalbox.common.ids import ZERO_UUID
from signalbox.protocol import own_tags
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_partitions import CreatePartitionsRequest
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest
from signalbox.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from signalbox.protocol.messages.metadata import MetadataRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """-1 = the broker's default. `assignments` (partition → broker ids) replaces both numbers."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)
    assignments: Mapping[int, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedTopic(AdminResult):
    topic_id: bytes = ZERO_UUID
    num_partitions: int = -1
    replication_factor: int = -1


class TopicAdmin(AdminCall):
    async def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False, timeout_ms: float | None = None
    ) -> dict[str, AdminResult]:
        """Create topics, or only validate them; a CreatedTopic per name."""

        async def attempt(remaining: list[NewTopic], left_ms: float) -> list[AdminResult]:
            request = CreateTopicsRequest(
                topics=[_creatable(topic) for topic in remaining],
                timeout_ms=self._wire_timeout_ms(left_ms),
                validate_only=validate_only,
            )
            response = await self.client.request_any(request, timeout_ms=left_ms)
            return [
                CreatedTopic(
                    name=row.name,
                    error=Error.of(row.error_code),
                    message=row.error_message,
                    topic_id=row.topic_id,
                    num_partitions=row.num_partitions,
                    replication_factor=row.replication_factor,
                )
                for row in response.topics
            ]

        return await self._each(topics, attempt, lambda topic: topic.name, timeout_ms)

    async def create_topic(
        self,
        name: str,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str] | None = None,
        timeout_ms: float | None = None,
    ) -> AdminResult:
        """Create one topic; KafkaError when it was rejected."""
        topic = NewTopic(
            name=name, num_partitions=num_partitions, replication_factor=replication_factor, configs=configs or {}
        )
        return only(await self.create_topics([topic], timeout_ms=timeout_ms), name)

    async def delete_topics(self, names: Sequence[str], *, timeout_ms: float | None = None) -> dict[str, AdminResult]:
        async def attempt(remaining: list[str], left_ms: float) -> list[AdminResult]:
            def build(connection: ClientConnection) -> Any:
                by_name = connection.version_for(DeleteTopicsRequest()) < 6
                states = [] if by_name else [DeleteTopicsRequest.DeleteTopicState(name=name) for name in remaining]
                return DeleteTopicsRequest(
                    topics=states, topic_names=remaining if by_name else [], timeout_ms=self._wire_timeout_ms(left_ms)
                )

            response = await self.client.request_any(build, timeout_ms=left_ms)
            return [result_of(row.name or "", row.error_code, row.error_message) for row in response.responses]

        return await self._each(names, attempt, str, timeout_ms)

    async def create_partitions(
        self, counts: Mapping[str, int], *, validate_only: bool = False, timeout_ms: float | None = None
    ) -> dict[str, AdminResult]:
        """Increase the number of partitions of topics to a new total."""

        async def attempt(remaining: list[str], left_ms: float) -> list[AdminResult]:
            rows = [
                CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=counts[name], assignments=None)
                for name in remaining
            ]
            request = CreatePartitionsRequest(
                topics=rows, timeout_ms=self._wire_timeout_ms(left_ms), validate_only=validate_only
            )
            response = await self.client.request_any(request, timeout_ms=left_ms)
            return [result_of(row.name, row.error_code, row.error_message) for row in response.results]

        return await self._each(list(counts), attempt, str, timeout_ms)

    async def describe_topics(
        self, names: Sequence[str] | None = None, *, timeout_ms: float | None = None
    ) -> dict[str, TopicView]:
        """Topics in the Metadata of any broker, all when no names are given; errors stay in `error_code`."""
        requested_topics = (
            None if names is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
        )
        request = MetadataRequest(topics=requested_topics, allow_auto_topic_creation=False)
        view = MetadataView()
        view.adopt(await self._ask(request, timeout_ms))
        return view.topics

    async def offline_reasons(self, name: str, *, timeout_ms: float | None = None) -> dict[int, str]:
        """Why partitions of a topic have no leader, if the brokers return it (Apache Kafka's do not)."""
        reasons: dict[int, str] = {}
        cursor: DescribeTopicPartitionsRequest.Cursor | None = None
        while True:
            topic = DescribeTopicPartitionsRequest.TopicRequest(name=name)
            request = DescribeTopicPartitionsRequest(topics=[topic], cursor=cursor)
            try:
                response = await self._ask(request, timeout_ms)
            except VersionUnsupported:  # Apache Kafka before 3.8
                return reasons
            for described in response.topics:
                topic_reasons = {
                    partition.partition_index: own_tags.offline_reason(partition) for partition in described.partitions
                }
                reasons |= {index: reason for index, reason in topic_reasons.items() if reason}
            if (after := response.next_cursor) is None:
                return reasons
            cursor = DescribeTopicPartitionsRequest.Cursor(
                topic_name=after.topic_name, partition_index=after.partition_index
            )

    async def list_topics(self, *, internal: bool = False, timeout_ms: float | None = None) -> list[str]:
        """Names of all topics, sorted."""
        topics = await self.describe_topics(timeout_ms=timeout_ms)
        return sorted(name for name, topic in topics.items() if internal or not topic.is_internal)


def _creatable(topic: NewTopic) -> CreateTopicsRequest.CreatableTopic:
    message_type = CreateTopicsRequest
    return message_type.CreatableTopic(
        name=topic.name,
        num_partitions=-1 if topic.assignments else topic.num_partitions,
        replication_factor=-1 if topic.assignments else topic.replication_factor,
        assignments=[
            message_type.CreatableReplicaAssignment(partition_index=index, broker_ids=list(brokers))
            for index, brokers in topic.assignments.items()
        ],
        configs=[message_type.CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()],
    )
