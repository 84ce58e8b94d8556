"""TxnOffsetCommit (28): offsets of a group in a producer's transaction. KIP-98, KIP-447, KIP-890. Versions 0-6.

Needs WRITE on the transactional id, READ on the group and on each topic. The group's coordinator stores the offsets;
they count when the transaction is committed. Before the first offsets of a transaction are appended, the transaction
coordinator is asked whether the partition of `__consumer_offsets` is in the transaction; from version 5 on it is added.
A marker that is written meanwhile makes the append fail with INVALID_TXN_STATE. If the coordinator cannot be asked, the
error is COORDINATOR_LOAD_IN_PROGRESS, as in Kafka: the producer retries with the same group coordinator.
Version notes: topic ids from 6 on, which the handler resolves to names. CONCURRENT_TRANSACTIONS from 5 on and
TRANSACTION_ABORTABLE from 4 on; earlier versions have COORDINATOR_LOAD_IN_PROGRESS and INVALID_TXN_STATE. Before
version 2 COORDINATOR_LOAD_IN_PROGRESS is COORDINATOR_NOT_AVAILABLE: those clients fail on it (KAFKA-7296).
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.authorization import require_group, require_transactional_id
from signalbox.broker.handlers.groups.offset_topics import OffsetTopics
from signalbox.broker.transactions.transaction_verifier import Errors, ProducerTransaction, TransactionVerifier
from signalbox.broker.transactions.transactional_produce import ENDING_ERRORS, VerificationSettings
from signalbox.common.ids import TopicPartition
from signalbox.common.internal_topics import OFFSETS_TOPIC
from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.coordinator.write_errors import client_error_for
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer
from signalbox.storage.producers.transaction_verification import ALREADY_ONGOING, SWITCHED_OFF

_TOPIC_IDS_FROM = 6
_ADDS_PARTITIONS_FROM = 5
_ABORTABLE_FROM = 4
_LOAD_IN_PROGRESS_FROM = 2
_NOT_VERIFIED = (Error.NETWORK_EXCEPTION, Error.COORDINATOR_NOT_AVAILABLE, Error.NOT_COORDINATOR)
_Topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
_TopicResult = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
_PartitionResult = TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition


class TxnOffsetCommitHandler:
    def __init__(
        self,
        coordinator: GroupCoordinator,
        cache: MetadataCache,
        authorizer: Authorizer,
        verifier: TransactionVerifier,
        settings: VerificationSettings,
    ) -> None:
        self._settings = settings
        self._verifier = verifier
        self._coordinator = coordinator
        self._authorizer = authorizer
        self._topics = OffsetTopics(cache, authorizer, AclOperation.READ, _TOPIC_IDS_FROM)

    def __call__(self, request: ApiRequest) -> HandlerResult:
        body: TxnOffsetCommitRequest = request.body
        require_transactional_id(self._authorizer, request.context, AclOperation.WRITE, body.transactional_id)
        require_group(self._authorizer, request.context, AclOperation.READ, body.group_id)
        accepted: list[_Topic] = []
        rejected: list[_TopicResult] = []
        for topic in body.topics:
            error = self._topics.error(request, topic)
            if error is Error.NONE:
                accepted.append(topic)
            else:
                rejected.append(_rejected(topic, error))
        body.topics = accepted

        def complete(response: TxnOffsetCommitResponse) -> TxnOffsetCommitResponse:
            response.topics += rejected
            if request.header.api_version < _LOAD_IN_PROGRESS_FROM:
                _replace_load_in_progress(response)
            return response

        if not accepted:
            return complete(TxnOffsetCommitResponse())
        return self._verified_commit(request).map(complete)

    def _verified_commit(self, request: ApiRequest) -> Promise[TxnOffsetCommitResponse]:
        body: TxnOffsetCommitRequest = request.body
        version, producer = request.header.api_version, (body.producer_id, body.producer_epoch)
        adds_partitions = version >= _ADDS_PARTITIONS_FROM

        def rejected(error: Error) -> TxnOffsetCommitResponse:
            return TxnOffsetCommitResponse(topics=[_rejected(topic, error) for topic in body.topics])

        if not body.group_id:  # before the verification, which would add a partition
            return Promise.of(rejected(Error.INVALID_GROUP_ID))
        if not (self._settings.is_enabled() or adds_partitions):
            return self._coordinator.txn_offset_commit(body, SWITCHED_OFF)
        try:
            guard = self._coordinator.start_verification(body.group_id, producer, raises_epochs=adds_partitions)
        except KafkaError as rejection:
            return Promise.of(rejected(rejection.error))
        if guard is ALREADY_ONGOING:
            return self._coordinator.txn_offset_commit(body, guard)
        partition = TopicPartition(OFFSETS_TOPIC, self._coordinator.partition_for(body.group_id))
        transaction = ProducerTransaction(body.transactional_id, *producer, adds_partitions)
        response: Promise[TxnOffsetCommitResponse] = Promise()

        def commit(errors: Errors) -> None:
            error = errors.get(partition, Error.NONE)
            if error in ENDING_ERRORS:
                self._coordinator.abandon_verification(body.group_id, body.producer_id, guard)
            if error is not Error.NONE:
                response.complete(rejected(_error_for_version(error, version)))
            else:
                self._coordinator.txn_offset_commit(body, guard).then(response.complete)

        self._verifier.verify(transaction, [partition]).then(commit)
        return response


def _error_for_version(error: Error, version: int) -> Error:
    """The error of a verification, as the producer knows it. Errors of the group's partition become those of its
    coordinator: the producer would take them for errors of its own topics."""
    if error in _NOT_VERIFIED or (error is Error.CONCURRENT_TRANSACTIONS and version < _ADDS_PARTITIONS_FROM):
        return Error.COORDINATOR_LOAD_IN_PROGRESS
    if error is Error.TRANSACTION_ABORTABLE and version < _ABORTABLE_FROM:
        return Error.INVALID_TXN_STATE
    return client_error_for(error)


def _rejected(topic: _Topic, error: Error) -> _TopicResult:
    return _TopicResult(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[_PartitionResult(partition_index=p.partition_index, error_code=error) for p in topic.partitions],
    )


def _replace_load_in_progress(response: TxnOffsetCommitResponse) -> None:
    for topic in response.topics:
        for partition in topic.partitions:
            if partition.error_code == Error.COORDINATOR_LOAD_IN_PROGRESS:
                partition.error_code = Error.COORDINATOR_NOT_AVAILABLE
