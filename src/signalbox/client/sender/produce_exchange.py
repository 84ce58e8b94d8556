"""The requests of a producer: Produce from batches, its response by partition, and InitProducerId."""

from __future__ import annotations

from typing import Any

from signalbox.client.cluster.metadata_view import MetadataView
from signalbox.client.cluster_client import ClusterClient
from signalbox.client.rejections import rejection_of
from signalbox.client.sender.producer_batch import PartitionQueue, ProducerBatch, ProducerIdentity
from signalbox.common.ids import ZERO_UUID, TopicPartition
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.init_producer_id import InitProducerIdRequest
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


class ProducerIds:
    """The identity for new sequences: InitProducerId at any broker, once per cluster and whenever an id is spent."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client
        self.current: ProducerIdentity | None = None

    @property
    def usable(self) -> ProducerIdentity | None:
        """The identity of the client's present cluster, if there is one. Its id may be spent for some partitions."""
        current = self.current
        return current if current is not None and current.cluster_id == self._client.view.cluster_id else None

    async def obtain(self) -> None:
        """Get another identity; there is none when the cluster changed meanwhile. ClientFailure or KafkaError when no
        producer id can be obtained now."""
        cluster_id = self._client.view.cluster_id
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        response = await self._client.request_any(request, timeout_ms=self._client.settings.request_timeout_ms)
        if response.error_code != Error.NONE:
            raise rejection_of(Error.of(response.error_code), "no producer id is available")
        if cluster_id == self._client.view.cluster_id:
            self.current = ProducerIdentity(response.producer_id, response.producer_epoch, cluster_id)
