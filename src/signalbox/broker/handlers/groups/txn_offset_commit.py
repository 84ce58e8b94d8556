"""TxnOffsetCommit (28): offsets of a group in a producer's transaction. KIP-98, KIP-447, KIP-890. Versions 0-6.

Needs WRITE on the transactional id, READ on the group and on each topic. The group's coordinator stores the offsets;
they count when the transaction is committed. From version 6 on there are topic ids, which the handler resolves to
names.
Version note: COORDINATOR_LOAD_IN_PROGRESS is COORDINATOR_NOT_AVAILABLE before version 2: those clients fail on it
(KAFKA-7296).
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.authorization.authorization import may, require_group, require_transactional_id
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_TOPIC_IDS_FROM = 6
_LOAD_IN_PROGRESS_FROM = 2
_Topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
_TopicResult = TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
_PartitionResult = TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition


class TxnOffsetCommitHandler:
    def __init__(self, coordinator: GroupCoordinator, cache: MetadataCache, authorizer: Authorizer) -> None:
        self._coordinator = coordinator
        self._cache = cache
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        body: TxnOffsetCommitRequest = request.body
        require_transactional_id(self._authorizer, request.context, AclOperation.WRITE, body.transactional_id)
        require_group(self._authorizer, request.context, AclOperation.READ, body.group_id)
        accepted: list[_Topic] = []
        rejected: list[_TopicResult] = []
        for topic in body.topics:
            error = self._name(request, topic)
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

        return self._coordinator.txn_offset_commit(body).map(complete)

    def _name(self, request: ApiRequest, topic: _Topic) -> Error:
        """Set the name of a topic that has an id only; returns the error that rejects the topic, or NONE."""
        if request.header.api_version >= _TOPIC_IDS_FROM:
            name = self._cache.image.topic_name(topic.topic_id)
            if name is None:
                return Error.UNKNOWN_TOPIC_ID
            topic.name = name
        allowed = may(self._authorizer, request.context, AclOperation.READ, topic.name)
        return Error.NONE if allowed else Error.TOPIC_AUTHORIZATION_FAILED


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
