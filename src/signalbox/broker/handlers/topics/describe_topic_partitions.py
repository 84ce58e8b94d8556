"""DescribeTopicPartitions (key 75): partitions of many topics, page by page. KIP-966; version 0.

Topics are in the order of their names; an empty list of topics means all. `response_partition_limit` and
max.request.partition.size.limit limit the partitions of one response; the cursor is the start of the next page.
A partition without a leader has leader -1 and no error code, as in Kafka; the reason is in a tagged field of Signalbox
(`protocol/own_tags.py`).
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.authorization import may, operations_bit_field
from signalbox.broker.topics.topic_view import TopicView
from signalbox.common.internal_topics import INTERNAL_TOPICS
from signalbox.controller.topics.topic_name import reject_topic_name
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.image import PartitionImage
from signalbox.protocol import own_tags
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer

_Topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
_Cursor = DescribeTopicPartitionsRequest.Cursor
_Partition = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition
# The rules of the newest Metadata version apply: a leader without the listener is none.
_METADATA_VERSION = 13


class DescribeTopicPartitionsHandler:
    """`partition_limit` is max.request.partition.size.limit."""

    def __init__(self, cache: MetadataCache, authorizer: Authorizer, partition_limit: int) -> None:
        self._cache = cache
        self._authorizer = authorizer
        self._partition_limit = partition_limit

    def __call__(self, request: ApiRequest) -> HandlerResult:
        body: DescribeTopicPartitionsRequest = request.body
        cursor = body.cursor
        if cursor is not None and cursor.partition_index < 0:
            raise KafkaError(Error.INVALID_REQUEST, "a cursor's partition index is never negative")
        requested_names = sorted({topic.name for topic in body.topics})
        names = requested_names or sorted(self._cache.image.topics)
        if cursor is not None:
            names = [name for name in names if name >= cursor.topic_name]
        limit = max(min(body.response_partition_limit, self._partition_limit), 1)
        return self._page(request, names, bool(requested_names), cursor, limit)

    def _page(
        self, request: ApiRequest, names: list[str], is_named: bool, cursor: _Cursor | None, limit: int
    ) -> DescribeTopicPartitionsResponse:
        response = DescribeTopicPartitionsResponse()
        for name in names:
            first_partition = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
            if not may(self._authorizer, request.context, AclOperation.DESCRIBE, name):
                if is_named:
                    response.topics.append(_Topic(error_code=Error.TOPIC_AUTHORIZATION_FAILED, name=name))
                continue
            if limit <= 0:
                response.next_cursor = DescribeTopicPartitionsResponse.Cursor(topic_name=name, partition_index=0)
                break
            topic, count = self._topic(request, name, first_partition, limit)
            response.topics.append(topic)
            limit -= count
            image = self._cache.image.topics.get(name)
            if image is not None and first_partition + count < len(image.partitions):
                response.next_cursor = DescribeTopicPartitionsResponse.Cursor(
                    topic_name=name, partition_index=first_partition + count
                )
                break
        return response

    def _topic(self, request: ApiRequest, name: str, first_partition: int, limit: int) -> tuple[_Topic, int]:
        image = self._cache.image.topics.get(name)
        if image is None:
            operations = operations_bit_field(self._authorizer, request.context, ResourceType.TOPIC, name)
            topic = _Topic(error_code=_unknown(name), name=name, is_internal=name in INTERNAL_TOPICS)
            topic.topic_authorized_operations = operations
            return topic, 0
        view = TopicView(self._cache.image, request.context.listener_name, _METADATA_VERSION)
        indexes = sorted(image.partitions)[first_partition : first_partition + limit]
        partitions = []
        for index in indexes:
            partitions.append(_described(view, index, image.partitions[index]))
        error = view.topic_error(image)
        topic = _Topic(
            error_code=error,
            name=name,
            topic_id=image.topic_id,
            is_internal=name in INTERNAL_TOPICS,
            partitions=partitions,
        )
        topic.topic_authorized_operations = operations_bit_field(
            self._authorizer, request.context, ResourceType.TOPIC, name
        )
        return topic, len(indexes)


def _unknown(name: str) -> Error:
    return Error.INVALID_TOPIC_EXCEPTION if reject_topic_name(name) else Error.UNKNOWN_TOPIC_OR_PARTITION


def _described(view: TopicView, index: int, partition: PartitionImage) -> _Partition:
    partition_view = view.partition(index, partition)
    described = _Partition(
        partition_index=index,
        leader_id=partition_view.leader_id,
        leader_epoch=partition_view.leader_epoch,
        replica_nodes=partition_view.replica_nodes,
        isr_nodes=partition_view.isr_nodes,
        offline_replicas=partition_view.offline_replicas,
        # Never null: Java's admin client iterates over both without a null check.
        eligible_leader_replicas=[],
        last_known_elr=[],
    )
    own_tags.put_offline_reason(described, partition.offline_reason)
    return described
