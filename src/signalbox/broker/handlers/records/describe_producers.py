"""DescribeProducers (key 61): the producers of a partition and their open transactions. KIP-664; version 0.

Finds transactions that nothing ends (`kafka-transactions.sh find-hanging`). Clients ask the leader, or any replica to
compare it: the tool asks one broker for all partitions that it hosts. Needs READ on the topic.
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.authorization import may
from signalbox.common.cooperative_task import yield_if_due, yielding
from signalbox.controller.topics.topic_name import reject_topic_name
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.describe_producers import DescribeProducersResponse
from signalbox.replication.replica_manager import ReplicaManager
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer
from signalbox.storage.log import Log

_Partition = DescribeProducersResponse.PartitionResponse
_Producer = DescribeProducersResponse.ProducerState


class DescribeProducersHandler:
    def __init__(self, replicas: ReplicaManager, cache: MetadataCache, authorizer: Authorizer) -> None:
        self._replicas = replicas
        self._cache = cache
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        response = DescribeProducersResponse()
        for topic in request.body.topics:
            code, text = self._topic_error(request, topic.name)
            partitions = []
            for index in topic.partition_indexes:
                yield_if_due()
                if code:
                    partitions.append(_Partition(partition_index=index, error_code=code, error_message=text))
                else:
                    partitions.append(self._partition(topic.name, index))
            response.topics.append(DescribeProducersResponse.TopicResponse(name=topic.name, partitions=partitions))
        return response

    def _topic_error(self, request: ApiRequest, topic: str) -> tuple[Error, str | None]:
        """The error that rejects all partitions of a topic, with its message; NONE if there is none."""
        problem = reject_topic_name(topic)
        if problem is not None:
            return Error.INVALID_TOPIC_EXCEPTION, problem
        if not may(self._authorizer, request.context, AclOperation.READ, topic):
            return Error.TOPIC_AUTHORIZATION_FAILED, f"Not authorized to access topic {topic}"
        if topic not in self._cache.image.topics:
            return Error.UNKNOWN_TOPIC_OR_PARTITION, f"Topic {topic} does not exist"
        return Error.NONE, None

    def _partition(self, topic: str, index: int) -> DescribeProducersResponse.PartitionResponse:
        """Yields."""
        try:
            log = self._replicas.hosted.find(topic, index).local_log(as_leader=False)
        except KafkaError as error:
            return _Partition(partition_index=index, error_code=error.error)
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
