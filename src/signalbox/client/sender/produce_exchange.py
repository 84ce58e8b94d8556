"""Builds a Produce request from batches, and maps its response to batches."""

from __future__ import annotations

from typing import Any

from signalbox.client.cluster.metadata_view import MetadataView
from signalbox.client.sender.producer_batch import PartitionQueue, ProducerBatch
from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.protocol.messages.produce import ProduceRequest

_ACKS_ALL = -1

Sending = list[tuple[PartitionQueue, ProducerBatch]]


def produce_request(sending: Sending, view: MetadataView, compression: str, timeout_ms: int) -> ProduceRequest:
    """One batch per partition; topics with name and id: the version decides which one is sent."""
    topics: dict[str, list[ProduceRequest.PartitionProduceData]] = {}
    for queue, batch in sending:
        row = ProduceRequest.PartitionProduceData(index=queue.partition.partition, records=batch.encoded(compression))
        topics.setdefault(queue.partition.topic, []).append(row)
    return ProduceRequest(
        acks=_ACKS_ALL,
        timeout_ms=timeout_ms,
        topic_data=[
            ProduceRequest.TopicProduceData(
                name=name,
                topic_id=view.topics[name].topic_id if name in view.topics else ZERO_UUID,
                partition_data=rows,
            )
            for name, rows in topics.items()
        ],
    )


def answers_by_partition(response: Any, view: MetadataView) -> dict[TopicPartition, Any]:
    """The rows of a ProduceResponse by partition. A topic id that is no longer in the view has no row."""
    rows = {}
    for topic in response.responses:
        name = topic.name or view.name_of(topic.topic_id)
        if name is not None:
            for row in topic.partition_responses:
                rows[TopicPartition(name, row.index)] = row
    return rows
