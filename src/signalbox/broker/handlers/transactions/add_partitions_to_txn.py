"""AddPartitionsToTxn (24), AddOffsetsToTxn (25): partitions join a transaction. KIP-98, KIP-890. Versions 0-5, 0-4.

Clients need WRITE on the transactional id, WRITE on each topic, and READ on the group. If one partition is rejected, no
partition is added: the others have OPERATION_NOT_ATTEMPTED. From version 4 on AddPartitionsToTxn is sent by brokers
only, which need CLUSTER_ACTION: it has many transactions, each of which is added to or, with VerifyOnly, only verified.
AddOffsetsToTxn adds the partition of `__consumer_offsets` that has the group.
Version note: PRODUCER_FENCED is INVALID_PRODUCER_EPOCH before version 2.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult, as_future
from signalbox.broker.authorization.authorization import (
    allowed_names,
    require_group,
    require_transactional_id,
)
from signalbox.broker.authorization.cluster_action import require_cluster_action
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
        if request.header.api_version >= _BATCHED_FROM:
            require_cluster_action(self._authorizer, request.context, self._peer_listeners)
            return self._add_all(request)
        return self._add_for_client(request)

    async def _add_for_client(self, request: ApiRequest) -> FinalResponse:
        body: AddPartitionsToTxnRequest = request.body
        name, topics = body.v3_and_below_transactional_id, body.v3_and_below_topics
        require_transactional_id(self._authorizer, request.context, AclOperation.WRITE, name)
        allowed = allowed_names(
            self._authorizer, request.context, AclOperation.WRITE, ResourceType.TOPIC, (topic.name for topic in topics)
        )
        partitions = _partitions(topics)
        errors = {
            partition: self._existence_error(partition)
            if partition.topic in allowed
            else Error.TOPIC_AUTHORIZATION_FAILED
            for partition in partitions
        }
        if not any(errors.values()):
            producer = (body.v3_and_below_producer_id, body.v3_and_below_producer_epoch)
            error = await as_future(self._transactions.add_partitions(name, producer, partitions, _CLIENT))
            errors = dict.fromkeys(partitions, error_for_version(error, request.header.api_version))
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_topic_results(topics, _one_for_all(errors)))

    async def _add_all(self, request: ApiRequest) -> FinalResponse:
        body: AddPartitionsToTxnRequest = request.body
        added = gather([self._add(transaction) for transaction in body.transactions])
        errors: list[Errors] = await as_future(added)
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                _Result(transactional_id=row.transactional_id, topic_results=_topic_results(row.topics, row_errors))
                for row, row_errors in zip(body.transactions, errors, strict=True)
            ]
        )

    def _add(self, transaction: _Transaction) -> Promise[Errors]:
        partitions = _partitions(transaction.topics)
        errors = {partition: self._existence_error(partition) for partition in partitions}
        if any(errors.values()):
            return Promise.of(_one_for_all(errors))
        producer = (transaction.producer_id, transaction.producer_epoch)
        if transaction.verify_only:
            return self._transactions.verify_partitions(transaction.transactional_id, producer, partitions).map(dict)
        added = self._transactions.add_partitions(transaction.transactional_id, producer, partitions, _BUMPING_CLIENT)
        return added.map(lambda error: dict.fromkeys(partitions, error))

    def _existence_error(self, partition: TopicPartition) -> Error:
        known = self._cache.image.partition(*partition) is not None
        return Error.NONE if known else Error.UNKNOWN_TOPIC_OR_PARTITION


class AddOffsetsToTxnHandler:
    def __init__(self, transactions: TransactionCoordinator, groups: GroupCoordinator, authorizer: Authorizer) -> None:
        self._transactions = transactions
        self._groups = groups
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        body: AddOffsetsToTxnRequest = request.body
        require_transactional_id(self._authorizer, request.context, AclOperation.WRITE, body.transactional_id)
        require_group(self._authorizer, request.context, AclOperation.READ, body.group_id)
        partition = TopicPartition(OFFSETS_TOPIC, self._groups.partition_for(body.group_id))
        added = self._transactions.add_partitions(
            body.transactional_id, (body.producer_id, body.producer_epoch), [partition], _CLIENT
        )
        return added.map(
            lambda error: AddOffsetsToTxnResponse(error_code=error_for_version(error, request.header.api_version))
        )


def _partitions(topics: Iterable[_Topic]) -> list[TopicPartition]:
    return [TopicPartition(topic.name, partition) for topic in topics for partition in topic.partitions]


def _one_for_all(errors: Errors) -> Errors:
    """The errors, with OPERATION_NOT_ATTEMPTED for the partitions without one if others have one."""
    if not any(errors.values()):
        return errors
    return {partition: error or Error.OPERATION_NOT_ATTEMPTED for partition, error in errors.items()}


def _topic_results(topics: Iterable[_Topic], errors: Errors) -> list[_TopicResult]:
    return [
        _TopicResult(
            name=topic.name,
            results_by_partition=[
                _PartitionResult(partition_index=index, partition_error_code=errors[TopicPartition(topic.name, index)])
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]
