"""OffsetCommit (8) and OffsetDelete (47): changes of a group's committed offsets. Versions 2-10 and 0.

OffsetCommit needs READ on the group and on each topic; OffsetDelete DELETE on the group and READ on the topics.
The handler rejects topics that may not be read and passes the others to the coordinator. From version 10 on
OffsetCommit has topic ids, which the handler resolves to names. The coordinator decides whether the topics exist, when
it decides about their offsets: a topic that is deleted meanwhile, and perhaps created again, is not mistaken.
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult, as_future
from signalbox.broker.authorization.authorization import may, require_group
from signalbox.broker.handlers.groups.group_membership import client_context
from signalbox.broker.handlers.groups.offset_topics import OffsetTopics
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from signalbox.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_TOPIC_IDS_FROM = 10
_CommitTopic = OffsetCommitResponse.OffsetCommitResponseTopic
_CommitPartition = OffsetCommitResponse.OffsetCommitResponsePartition
_DeleteTopic = OffsetDeleteResponse.OffsetDeleteResponseTopic
_DeletePartition = OffsetDeleteResponse.OffsetDeleteResponsePartition


class OffsetCommitHandler:
    def __init__(self, coordinator: GroupCoordinator, cache: MetadataCache, authorizer: Authorizer) -> None:
        self._coordinator = coordinator
        self._authorizer = authorizer
        self._topics = OffsetTopics(cache, authorizer, AclOperation.READ, _TOPIC_IDS_FROM)

    def __call__(self, request: ApiRequest) -> HandlerResult:
        body: OffsetCommitRequest = request.body
        require_group(self._authorizer, request.context, AclOperation.READ, body.group_id)
        rejected: list[_CommitTopic] = []
        accepted = []
        for topic in body.topics:
            error = self._topics.error(request, topic)
            if error is Error.NONE:
                accepted.append(topic)
                continue
            rejected.append(
                _CommitTopic(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    partitions=[
                        _CommitPartition(partition_index=p.partition_index, error_code=error) for p in topic.partitions
                    ],
                )
            )
        body.topics = accepted
        return self._commit(request, body, rejected)

    async def _commit(
        self, request: ApiRequest, body: OffsetCommitRequest, rejected: list[_CommitTopic]
    ) -> FinalResponse:
        committed = self._coordinator.offset_commit(body, client_context(request))
        response: OffsetCommitResponse = await as_future(committed)
        response.topics += rejected
        return response


class OffsetDeleteHandler:
    def __init__(self, coordinator: GroupCoordinator, cache: MetadataCache, authorizer: Authorizer) -> None:
        self._coordinator = coordinator
        self._cache = cache
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        require_group(self._authorizer, request.context, AclOperation.DELETE, request.body.group_id)
        return self._delete(request)

    async def _delete(self, request: ApiRequest) -> FinalResponse:
        body: OffsetDeleteRequest = request.body
        rejected = []
        accepted = []
        for topic in body.topics:
            error = Error.NONE
            if not may(self._authorizer, request.context, AclOperation.READ, topic.name):
                error = Error.TOPIC_AUTHORIZATION_FAILED
            elif topic.name not in self._cache.image.topics:
                error = Error.UNKNOWN_TOPIC_OR_PARTITION
            if error is Error.NONE:
                accepted.append(topic)
                continue
            rejected.append(
                _DeleteTopic(
                    name=topic.name,
                    partitions=[
                        _DeletePartition(partition_index=p.partition_index, error_code=error) for p in topic.partitions
                    ],
                )
            )
        deleted = self._coordinator.offset_delete(
            OffsetDeleteRequest(group_id=body.group_id, topics=accepted), client_context(request)
        )
        response: OffsetDeleteResponse = await as_future(deleted)
        if response.error_code == Error.NONE:
            response.topics += rejected
        return response
