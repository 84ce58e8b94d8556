"""CreatePartitions (key 37): handled by the active controller; other brokers forward. KIP-195; versions 0-3.

Needs ALTER on the topic; a topic named twice is INVALID_REQUEST. A forwarding broker checks both as well (F6).
"""

from __future__ import annotations

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult
from signalbox.broker.authorization.authorization import may
from signalbox.broker.client_quotas import Throttling
from signalbox.broker.ports import ActiveController
from signalbox.broker.resource_requests import RESOURCE_REQUESTS, Rejected
from signalbox.common.cooperative_task import yielding
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_Result = CreatePartitionsResponse.CreatePartitionsTopicResult
_API = RESOURCE_REQUESTS[ApiKey.CREATE_PARTITIONS]
_RETURNS_THROTTLING_FROM = 3


class CreatePartitionsHandler:
    def __init__(
        self, controller: ActiveController, authorizer: Authorizer, throttling: Throttling, cache: MetadataCache
    ) -> None:
        self._controller = controller
        self._authorizer = authorizer
        self._throttling = throttling
        self._cache = cache

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        return self._create(request, self.rejected(request))

    def rejected(self, request: ApiRequest) -> Rejected:
        """Results of the topics that the principal may not alter, and of those that are named twice. Yields."""
        rejected: Rejected = {}
        for name, times in yielding(_API.times(request.body).items()):
            if times > 1:
                rejected[name] = _rejection(str(name), Error.INVALID_REQUEST, "Duplicate topic in request.")
            elif not may(self._authorizer, request.context, AclOperation.ALTER, str(name)):
                rejected[name] = _rejection(str(name), Error.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
        return rejected

    async def _create(self, request: ApiRequest, rejected: Rejected) -> FinalResponse:
        body: CreatePartitionsRequest = request.body
        changes = self._throttling.changes(request, _RETURNS_THROTTLING_FROM)
        costs: dict[str, int] = {}
        for topic in body.topics:
            if topic.name in rejected or body.validate_only:
                continue
            topic_image = self._cache.image.topics.get(topic.name)
            costs[topic.name] = max(0, topic.count - (len(topic_image.partitions) if topic_image is not None else 0))
            if not changes.allows(costs[topic.name]):
                error = Error.THROTTLING_QUOTA_EXCEEDED
                rejected[topic.name] = _rejection(topic.name, error, error.message)
        response: CreatePartitionsResponse | None = None
        remaining = _API.remaining_request(body, rejected)
        if remaining is not None:
            response = await self._controller.handle(ApiKey.CREATE_PARTITIONS, remaining, request.context)
            for result in response.results:
                if result.error_code not in (Error.NONE, Error.REQUEST_TIMED_OUT):
                    changes.give_back(costs.get(result.name, 0))
        combined: CreatePartitionsResponse = _API.combined_response(body, rejected, response)
        combined.throttle_time_ms = changes.throttle_ms
        return combined


def _rejection(name: str, error: Error, message: str) -> _Result:
    return _Result(name=name, error_code=error, error_message=message)
