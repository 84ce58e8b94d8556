"""OffsetFetch (key 9): the committed offsets of groups. Versions 1-10.

Needs DESCRIBE on each group and on each topic: a topic that may not be described has TOPIC_AUTHORIZATION_FAILED, or is
left out when the request is for all topics. From version 8 on a request has many groups, from version 10 on request and
response have topic ids (an unknown id is UNKNOWN_TOPIC_ID).
"""

from __future__ import annotations

from typing import Any

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult, as_future
from signalbox.broker.authorization.authorization import require_group
from signalbox.broker.handlers.groups.group_membership import client_context
from signalbox.broker.handlers.groups.offset_topics import OffsetTopics
from signalbox.common.ids import ZERO_UUID
from signalbox.coordinator.group_coordinator import GroupCoordinator
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_Group = OffsetFetchResponse.OffsetFetchResponseGroup
_GROUPS_FROM = 8
_TOPIC_IDS_FROM = 10


class OffsetFetchHandler:
    def __init__(self, coordinator: GroupCoordinator, cache: MetadataCache, authorizer: Authorizer) -> None:
        self._coordinator = coordinator
        self._cache = cache
        self._authorizer = authorizer
        self._topics = OffsetTopics(cache, authorizer, AclOperation.DESCRIBE, _TOPIC_IDS_FROM)

    def __call__(self, request: ApiRequest) -> HandlerResult:
        return self._fetch(request)

    async def _fetch(self, request: ApiRequest) -> FinalResponse:
        body: OffsetFetchRequest = request.body
        if request.header.api_version < _GROUPS_FROM:
            return await self._single(request, body)
        rejected: list[_Group] = []
        allowed = []
        for group in body.groups:
            try:
                require_group(self._authorizer, request.context, AclOperation.DESCRIBE, group.group_id)
            except KafkaError as error:
                rejected.append(_Group(group_id=group.group_id, error_code=error.error))
            else:
                allowed.append(group)
        rejected_topics = {group.group_id: self._filter_request(request, group, _Group) for group in allowed}
        body.groups = allowed
        response = await self._ask(request, body)
        for group_response in response.groups:
            self._filter_response(request, group_response)
            if group_response.error_code == Error.NONE:
                group_response.topics += rejected_topics.get(group_response.group_id, [])
        response.groups += rejected
        return response

    async def _single(self, request: ApiRequest, body: OffsetFetchRequest) -> FinalResponse:
        require_group(self._authorizer, request.context, AclOperation.DESCRIBE, body.group_id)
        rejected_topics = self._filter_request(request, body, OffsetFetchResponse)
        response = await self._ask(request, body)
        self._filter_response(request, response)
        if response.error_code == Error.NONE:
            response.topics += rejected_topics
        return response

    async def _ask(self, request: ApiRequest, body: OffsetFetchRequest) -> OffsetFetchResponse:
        fetched = self._coordinator.offset_fetch(body, client_context(request))
        response: OffsetFetchResponse = await as_future(fetched)
        return response

    def _filter_request(self, request: ApiRequest, group_request: Any, message_class: type[Any]) -> list[Any]:
        """Set the names of topics that have ids only, remove rejected topics from the request and return their
        results."""
        if group_request.topics is None:
            return []
        allowed_topics: list[Any] = []
        rejected: list[Any] = []
        for topic in group_request.topics:
            error = self._topics.error(request, topic)
            if error is Error.NONE:
                allowed_topics.append(topic)
            else:
                rejected.append(_rejected_topic(topic, error, message_class))
        group_request.topics = allowed_topics
        return rejected

    def _filter_response(self, request: ApiRequest, response: Any) -> None:
        """Remove topics that may not be described (after a request for all topics) and set missing topic ids."""
        response.topics = [topic for topic in response.topics if self._topics.may(request, topic.name)]
        for topic in response.topics:
            if getattr(topic, "topic_id", None) == ZERO_UUID:
                topic.topic_id = self._cache.image.topic_id(topic.name)


def _rejected_topic(topic: Any, error: Error, message_class: type[Any]) -> Any:
    if message_class is _Group:
        topics, partitions = (
            OffsetFetchResponse.OffsetFetchResponseTopics,
            OffsetFetchResponse.OffsetFetchResponsePartitions,
        )
        return topics(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[
                partitions(partition_index=index, committed_offset=-1, error_code=error)
                for index in topic.partition_indexes
            ],
        )
    return OffsetFetchResponse.OffsetFetchResponseTopic(
        name=topic.name,
        partitions=[
            OffsetFetchResponse.OffsetFetchResponsePartition(
                partition_index=index, committed_offset=-1, error_code=error
            )
            for index in topic.partition_indexes
        ],
    )
