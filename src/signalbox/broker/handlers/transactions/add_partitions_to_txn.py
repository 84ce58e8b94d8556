"""AddPartitionsToTxn (24), AddOffsetsToTxn (25): partitions join a transaction. KIP-98, KIP-890. Versions 0-5, 0-4.

Clients need WRITE on the transactional id, WRITE on each topic, and READ on the group. If one partition is rejected, no
partition is added: the others have OPERATION_NOT_ATTEMPTED. From version 4 on AddPartitionsToTxn is sent by brokers
only, which need CLUSTER_ACTION: it has many transactions, each of which is added to or, with VerifyOnly, only verified.
AddOffsetsToTxn adds the partition of `__consumer_offsets` that has the group. As FindCoordinator does, it has the topic
created if it is missing: the coordinator would else wait for metadata that has the partition before it ends the
transaction.
Version note: PRODUCER_FENCED is INVALID_PRODUCER_EPOCH before version 2.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult, as_future
from signalbox.broker.authorization.authorization import (
    allowed_names,
    require_group,
    require_transactional_id,
)
from signalbox.broker.authorization.cluster_action import require_cluster_action
from signalbox.broker.topics.topic_creation import TopicCreator
from signalbox.common.cooperative_task import yielding
from signalbox.common.ids import TopicPartition
from signalbox.common.internal_topics import OFFSETS_TOPIC
from signalbox.common.waiting.promise import Promise, gather
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.coordinator.transaction_coordinator import TransactionCoordinator
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from signalbox.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer

_BATCHED_FROM = 4
_PRODUCER_FENCED_FROM = 2
_TOPIC_TIMEOUT_S = 5.0  # from its creation to this broker's metadata
_BUMPING_CLIENT, _CLIENT = 2, 0  # transaction versions: only producers of version 2 leave the addition to brokers

_Transaction = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
_Topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
_Result = AddPartitionsToTxnResponse.AddPartitionsToTxnResult
_TopicResult = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
_PartitionResult = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult

Errors = Mapping[TopicPartition, Error]


def error_for_version(error: Error, api_version: int, fenced_from: int = _PRODUCER_FENCED_FROM) -> Error:
    """PRODUCER_FENCED from version `fenced_from` on; earlier clients know INVALID_PRODUCER_EPOCH."""
    fenced = error is Error.PRODUCER_FENCED and api_version < fenced_from
    return Error.INVALID_PRODUCER_EPOCH if fenced else error


class AddPartitionsToTxnHandler:
    def __init__(
        self,
        transactions: TransactionCoordinator,
        cache: MetadataCache,
        authorizer: Authorizer,
        peer_listeners: Container[str] = (),
    ) -> None:
        self._transactions = transactions
        self._cache = cache
        self._authorizer = authorizer
        self._peer_listeners = peer_listeners

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        if request.header.api_version >= _BATCHED_FROM:
            require_cluster_action(self._authorizer, request.context, self._peer_listeners)
            return self._add_all(request.body)
        return self._add_for_client(request)

    def _add_for_client(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        body: AddPartitionsToTxnRequest = request.body
        name, topics = body.v3_and_below_transactional_id, body.v3_and_below_topics
        require_transactional_id(self._authorizer, request.context, AclOperation.WRITE, name)
        allowed = allowed_names(
            self._authorizer, request.context, AclOperation.WRITE, ResourceType.TOPIC, (topic.name for topic in topics)
        )
        errors = {
            partition: self._existence_error(partition)
            if partition.topic in allowed
            else Error.TOPIC_AUTHORIZATION_FAILED
            for partition in _partitions(topics)
        }
        results = _topic_results(topics, _one_for_all(errors))
        if any(errors.values()):
            return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)

        def response(error: Error) -> AddPartitionsToTxnResponse:
            _set_error(results, error_for_version(error, request.header.api_version))
            return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)

        producer = (body.v3_and_below_producer_id, body.v3_and_below_producer_epoch)
        return self._transactions.add_partitions(name, producer, list(errors), _CLIENT).map(response)

    def _add_all(self, body: AddPartitionsToTxnRequest) -> Promise[AddPartitionsToTxnResponse]:
        """Yields."""
        return gather([self._add(transaction) for transaction in body.transactions]).map(
            lambda results: AddPartitionsToTxnResponse(results_by_transaction=results)
        )

    def _add(self, transaction: _Transaction) -> Promise[_Result]:
        """Yields."""
        errors = {partition: self._existence_error(partition) for partition in _partitions(transaction.topics)}
        name, producer = transaction.transactional_id, (transaction.producer_id, transaction.producer_epoch)
        if transaction.verify_only and not any(errors.values()):
            verified = self._transactions.verify_partitions(name, producer, list(errors))
            return verified.map(
                lambda found: _Result(transactional_id=name, topic_results=_topic_results(transaction.topics, found))
            )
        result = _Result(transactional_id=name, topic_results=_topic_results(transaction.topics, _one_for_all(errors)))
        if any(errors.values()):
            return Promise.of(result)

        def with_error(error: Error) -> _Result:
            _set_error(result.topic_results, error)
            return result

        return self._transactions.add_partitions(name, producer, list(errors), _BUMPING_CLIENT).map(with_error)

    def _existence_error(self, partition: TopicPartition) -> Error:
        known = self._cache.image.partition(*partition) is not None
        return Error.NONE if known else Error.UNKNOWN_TOPIC_OR_PARTITION


class AddOffsetsToTxnHandler:
    def __init__(
        self,
        transactions: TransactionCoordinator,
        groups: GroupCoordinator,
        cache: MetadataCache,
        authorizer: Authorizer,
        creation: TopicCreator,
    ) -> None:
        self._transactions = transactions
        self._groups = groups
        self._cache = cache
        self._authorizer = authorizer
        self._creation = creation

    def __call__(self, request: ApiRequest) -> HandlerResult:
        body: AddOffsetsToTxnRequest = request.body
        require_transactional_id(self._authorizer, request.context, AclOperation.WRITE, body.transactional_id)
        require_group(self._authorizer, request.context, AclOperation.READ, body.group_id)
        if OFFSETS_TOPIC not in self._cache.image.topics:
            return self._add_to_new_topic(request)
        return self._add(request)

    async def _add_to_new_topic(self, request: ApiRequest) -> FinalResponse:
        await self._creation.create(OFFSETS_TOPIC, None)
        if not await self._cache.wait_until(lambda image: OFFSETS_TOPIC in image.topics, _TOPIC_TIMEOUT_S):
            return AddOffsetsToTxnResponse(error_code=Error.COORDINATOR_NOT_AVAILABLE)
        return await as_future(self._add(request))

    def _add(self, request: ApiRequest) -> Promise[AddOffsetsToTxnResponse]:
        body: AddOffsetsToTxnRequest = request.body
        partition = TopicPartition(OFFSETS_TOPIC, self._groups.partition_for(body.group_id))
        added = self._transactions.add_partitions(
            body.transactional_id, (body.producer_id, body.producer_epoch), [partition], _CLIENT
        )
        return added.map(
            lambda error: AddOffsetsToTxnResponse(error_code=error_for_version(error, request.header.api_version))
        )


def _partitions(topics: Iterable[_Topic]) -> Iterator[TopicPartition]:
    """Yields."""
    for topic in topics:
        for partition in yielding(topic.partitions):
            yield TopicPartition(topic.name, partition)


def _one_for_all(errors: Errors) -> Errors:
    """The errors, with OPERATION_NOT_ATTEMPTED for the partitions without one if others have one."""
    if not any(errors.values()):
        return errors
    return {partition: error or Error.OPERATION_NOT_ATTEMPTED for partition, error in errors.items()}


def _set_error(results: Iterable[_TopicResult], error: Error) -> None:
    """Change the results of a request whose partitions were not added."""
    for topic in results if error else ():
        for partition in topic.results_by_partition:
            partition.partition_error_code = error


def _topic_results(topics: Iterable[_Topic], errors: Errors) -> list[_TopicResult]:
    """Made before the transaction's record is written, while the request runs in slices. Yields."""
    return [
        _TopicResult(
            name=topic.name,
            results_by_partition=[
                _PartitionResult(partition_index=index, partition_error_code=errors[TopicPartition(topic.name, index)])
                for index in yielding(topic.partitions)
            ],
        )
        for topic in topics
    ]
