"""Builds a Fetch request without a session from positions, and maps its response to partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from signalbox.client.aborted_transactions import ISOLATION_LEVELS
from signalbox.client.cluster.metadata_view import MetadataView
from signalbox.client.rejections import rejection_of
from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.fetch import FetchRequest

if TYPE_CHECKING:
    from signalbox.client.consumer import ConsumerSettings


def fetch_request(offsets: dict[TopicPartition, int], view: MetadataView, settings: ConsumerSettings) -> FetchRequest:
    """Topics with name and id: the version decides which one is sent."""
    topics: dict[str, list[FetchRequest.FetchPartition]] = {}
    for partition, offset in offsets.items():
        row = FetchRequest.FetchPartition(
            partition=partition.partition,
            fetch_offset=offset,
            partition_max_bytes=settings.max_partition_fetch_bytes,
        )
        topics.setdefault(partition.topic, []).append(row)
    return FetchRequest(
        max_wait_ms=settings.fetch_max_wait_ms,
        min_bytes=settings.fetch_min_bytes,
        max_bytes=settings.fetch_max_bytes,
        isolation_level=ISOLATION_LEVELS[settings.isolation_level],
        topics=[
            FetchRequest.FetchTopic(
                topic=name,
                topic_id=view.topics[name].topic_id if name in view.topics else ZERO_UUID,
                partitions=rows,
            )
            for name, rows in topics.items()
        ],
    )


def rows_by_partition(response: Any, view: MetadataView) -> dict[TopicPartition, Any]:
    """The rows of a FetchResponse by partition; KafkaError when it has a top-level error that is not retriable."""
    error = Error.of(response.error_code)
    if error != Error.NONE and not error.retriable:
        raise rejection_of(error)
    rows = {}
    for topic in response.responses:
        name = topic.topic or view.name_of(topic.topic_id)
        if name is not None:
            for row in topic.partitions:
                rows[TopicPartition(name, row.partition_index)] = row
    return rows
