"""DeleteTopics (key 20): handled by the active controller; other brokers forward. KIP-516; versions 1-6.

Needs DELETE on the topic. This is checked before the existence of the topic, so that the error does not reveal whether
it exists. A topic that is named by id is not deleted without DESCRIBE, and its name is not returned; ids are no secret
(KIP-516). Version 6 has names and ids in one list, earlier versions only names. An entry with both a name and an id is
INVALID_REQUEST for the whole request; an entry with neither is INVALID_REQUEST for that entry. A name or an id that is
given twice has one result, INVALID_REQUEST, for every principal. A forwarding broker checks all this as well (F6), but
sends an unknown id to the controller: the topic may be newer than the broker's metadata. Version note:
TOPIC_DELETION_DISABLED is returned from version 3 on, INVALID_REQUEST before.
"""

from __future__ import annotations

from collections.abc import Hashable

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult
from signalbox.broker.authorization.authorization import may
from signalbox.broker.client_quotas import Throttling
from signalbox.broker.ports import ActiveController
from signalbox.broker.resource_requests import RESOURCE_REQUESTS, Rejected
from signalbox.common.cooperative_task import yielding
from signalbox.common.ids import ZERO_UUID
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer
from signalbox.security.request_context import RequestContext

_Result = DeleteTopicsResponse.DeletableTopicResult
_API = RESOURCE_REQUESTS[ApiKey.DELETE_TOPICS]
_DELETION_DISABLED_FROM = 3
_RETURNS_THROTTLING_FROM = 5


class DeleteTopicsHandler:
    def __init__(
        self, controller: ActiveController, authorizer: Authorizer, cache: MetadataCache, throttling: Throttling
    ) -> None:
        self._throttling = throttling
        self._controller = controller
        self._authorizer = authorizer
        self._cache = cache

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        return self._delete(request, self.rejected(request))

    def rejected(self, request: ApiRequest) -> Rejected:
        """Results of the topics that the principal may not delete, and of invalid entries. KafkaError(INVALID_REQUEST)
        for the whole request when an entry has both a name and an id. Yields."""
        body: DeleteTopicsRequest = request.body
        named = _API.times(body)
        if any(state.name is not None and state.topic_id != ZERO_UUID for state in yielding(body.topics)):
            raise KafkaError(Error.INVALID_REQUEST, "You may not specify both topic name and topic id.")
        rejected: Rejected = {}
        for topic, times in yielding(named.items()):
            rejection = self._rejection(request.context, topic, times)
            if rejection is not None:
                rejected[topic] = rejection
        return rejected

    async def _delete(self, request: ApiRequest, rejected: Rejected) -> FinalResponse:
        body: DeleteTopicsRequest = request.body
        changes = self._throttling.changes(request, _RETURNS_THROTTLING_FROM)
        costs: dict[Hashable, int] = {}
        for topic, _ in _API.entries(body):
            if topic in rejected:
                continue
            costs[topic] = self._partitions(topic)
            if not changes.allows(costs[topic]):
                error = Error.THROTTLING_QUOTA_EXCEEDED
                rejected[topic] = _result(topic, error, error.message)
        response: DeleteTopicsResponse | None = None
        remaining = _API.remaining_request(body, rejected)
        if remaining is not None:
            response = await self._controller.handle(ApiKey.DELETE_TOPICS, remaining, request.context)
            for result in response.responses:
                if result.error_code not in (Error.NONE, Error.REQUEST_TIMED_OUT):
                    changes.give_back(costs.get(result.name, 0) or costs.get(result.topic_id, 0))
        combined: DeleteTopicsResponse = _API.combined_response(body, rejected, response)
        if request.header.api_version < _DELETION_DISABLED_FROM:
            for result in combined.responses:
                if result.error_code == Error.TOPIC_DELETION_DISABLED:
                    result.error_code = Error.INVALID_REQUEST
        combined.throttle_time_ms = changes.throttle_ms
        return combined

    def _partitions(self, topic: Hashable) -> int:
        """The number of partitions that deleting the topic costs (KIP-599)."""
        image = self._cache.image
        topic_image = image.topics.get((image.topic_name(topic) or "") if isinstance(topic, bytes) else str(topic))
        return len(topic_image.partitions) if topic_image is not None else 0

    def _rejection(self, context: RequestContext, topic: Hashable, times: int) -> _Result | None:
        by_id = isinstance(topic, bytes)
        if topic == ZERO_UUID:
            return _result(topic, Error.INVALID_REQUEST, "Neither topic name nor id were specified.")
        if times > 1:
            return _result(topic, Error.INVALID_REQUEST, f"Duplicate topic {'id' if by_id else 'name'}.")
        name = self._cache.image.topic_name(topic) if isinstance(topic, bytes) else str(topic)
        if name is None:
            return None
        may_return_name = not by_id or may(self._authorizer, context, AclOperation.DESCRIBE, name)
        if may_return_name and may(self._authorizer, context, AclOperation.DELETE, name):
            return None
        rejection = _result(topic, Error.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
        rejection.name = name if may_return_name else None
        return rejection


def _result(topic: Hashable, error: Error, message: str) -> _Result:
    """A result for a name (str) or an id (bytes)."""
    if isinstance(topic, bytes):
        return _Result(name=None, topic_id=topic, error_code=error, error_message=message)
    return _Result(name=str(topic), error_code=error, error_message=message)
