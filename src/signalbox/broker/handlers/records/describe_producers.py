"""DescribeProducers (key 61): the producers of a partition that its leader knows, and their open transactions. KIP-664;
version 0.

Finds transactions that nothing ends (`kafka-transactions.sh find-hanging`). Needs READ on the topic.
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.authorization import may
from signalbox.common.cooperative_task import yield_if_due, yielding
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.describe_producers import DescribeProducersResponse
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer
from signalbox.storage.log import Log

_Partition = DescribeProducersResponse.PartitionResponse
_Producer = DescribeProducersResponse.ProducerState


class DescribeProducersHandler:
    def __init__(self, replicas: ReplicaManager, authorizer: Authorizer) -> None:
        self._replicas = replicas
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        response = DescribeProducersResponse()
        for topic in request.body.topics:
            allowed = may(self._authorizer, request.context, AclOperation.READ, topic.name)
            partitions = []
            for index in topic.partition_indexes:
                yield_if_due()
                if allowed:
                    partitions.append(self._partition(topic.name, index))
                else:
                    partitions.append(_Partition(partition_index=index, error_code=Error.TOPIC_AUTHORIZATION_FAILED))
            response.topics.append(DescribeProducersResponse.TopicResponse(name=topic.name, partitions=partitions))
        return response

    def _partition(self, topic: str, index: int) -> DescribeProducersResponse.PartitionResponse:
        """Yields."""
        try:
            log = self._replicas.hosted.find(topic, index).local_log()
        except KafkaError as error:
            return _Partition(partition_index=index, error_code=error.error, error_message=error.message)
        return _Partition(partition_index=index, active_producers=_producers(log))


def _producers(log: Log) -> list[DescribeProducersResponse.ProducerState]:
    """Yields."""
    return [
        _Producer(
            producer_id=producer_id,
            producer_epoch=entry.producer_epoch,
            last_sequence=entry.last_sequence,
            last_timestamp=entry.last_timestamp,
            coordinator_epoch=entry.coordinator_epoch,
            current_txn_start_offset=entry.transaction_first_offset,
        )
        for producer_id, entry in yielding(list(log.producers.items()))
    ]
