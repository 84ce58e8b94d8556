"""FindCoordinator (key 10): the coordinator of a group or of a transactional id. KIP-98, KIP-699; versions 0-6.

Key types 0 (group) and 1 (transactional id) are supported. There is no share coordinator (2); only brokers look it up,
and for them INVALID_REQUEST is final. Needs DESCRIBE on the group or the transactional id.
The active controller creates the internal topic when it is missing (F10).
A coordinator whose broker lacks the request's listener is COORDINATOR_NOT_AVAILABLE, never LISTENER_NOT_FOUND.
Versions 0-3 have one top-level key, versions 4 and later a list of keys.
"""

from __future__ import annotations

import asyncio

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult
from signalbox.broker.authorization.authorization import require_group, require_transactional_id
from signalbox.broker.topics.topic_creation import TopicCreator
from signalbox.common.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from signalbox.coordinator.group_coordinator import partition_for
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_Coordinator = FindCoordinatorResponse.Coordinator
_TOPICS = {0: OFFSETS_TOPIC, 1: TRANSACTIONS_TOPIC}  # by key type: the internal topic whose leaders coordinate
_BATCHED_FROM = 4


class FindCoordinatorHandler:
    def __init__(self, cache: MetadataCache, authorizer: Authorizer, creation: TopicCreator) -> None:
        self._cache = cache
        self._authorizer = authorizer
        self._creation = creation

    def __call__(self, request: ApiRequest) -> HandlerResult:
        return self._find_all(request)

    async def _find_all(self, request: ApiRequest) -> FinalResponse:
        body: FindCoordinatorRequest = request.body
        if request.header.api_version >= _BATCHED_FROM:
            # Concurrently: all keys wait for the same creation of the internal topic.
            found_all = await asyncio.gather(*(self._find(request, key) for key in body.coordinator_keys))
            return FindCoordinatorResponse(coordinators=list(found_all))
        result = await self._find(request, body.key)
        return FindCoordinatorResponse(
            error_code=result.error_code,
            # Without an error "NONE" here, as in Kafka, and "" in the list of version 4.
            error_message=result.error_message
            or (Error.of(result.error_code).message if result.error_code else "NONE"),
            node_id=result.node_id,
            host=result.host,
            port=result.port,
        )

    async def _find(self, request: ApiRequest, key: str) -> _Coordinator:
        try:
            return await self._coordinator(request, key)
        except KafkaError as error:
            return _Coordinator(key=key, node_id=-1, port=-1, error_code=error.error, error_message=error.message)

    async def _coordinator(self, request: ApiRequest, key: str) -> _Coordinator:
        internal_topic = _TOPICS.get(request.body.key_type)
        if internal_topic is None:
            raise KafkaError(Error.INVALID_REQUEST, f"coordinators of type {request.body.key_type} do not exist here")
        require = require_group if internal_topic == OFFSETS_TOPIC else require_transactional_id
        require(self._authorizer, request.context, AclOperation.DESCRIBE, key)
        topic = self._cache.image.topics.get(internal_topic)
        if topic is None:
            _, message = await self._creation.create(internal_topic, None)
            raise KafkaError(Error.COORDINATOR_NOT_AVAILABLE, message)
        if not topic.partitions:
            raise KafkaError(Error.COORDINATOR_NOT_AVAILABLE, f"the metadata of {internal_topic} is corrupt")
        number = partition_for(key, len(topic.partitions))
        partition = topic.partitions.get(number)
        if partition is not None and partition.leader < 0:
            raise KafkaError(Error.COORDINATOR_NOT_AVAILABLE, f"{internal_topic}-{number} has no leader")
        nodes = self._cache.image.nodes(request.context.listener_name)
        endpoint = nodes.get(partition.leader) if partition is not None else None
        if partition is None or endpoint is None:
            raise KafkaError(Error.COORDINATOR_NOT_AVAILABLE, "the coordinator is not available on this listener")
        return _Coordinator(key=key, node_id=partition.leader, host=endpoint.host, port=endpoint.port, error_message="")
