"""CreatePartitions (key 37): answered by the active controller; other brokers forward. KIP-195; versions 0-3.

Needs ALTER on the topic; a topic named twice is INVALID_REQUEST.
"""

from __future__ import annotations

from collections import Counter

from signalbox.broker.api_request import Answer, ApiRequest, FinalAnswer
from signalbox.broker.authorization import may
from signalbox.broker.ports import ActiveController
from signalbox.broker.throttling import Throttling
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_Result = CreatePartitionsResponse.CreatePartitionsTopicResult
_THROTTLING_IS_TOLD_FROM = 3


class CreatePartitionsHandler:
    def __init__(
        self, controller: ActiveController, authorizer: Authorizer, throttling: Throttling, cache: MetadataCache
    ) -> None:
        self._controller = controller
        self._authorizer = authorizer
        self._throttling = throttling
        self._cache = cache

    def __call__(self, request: ApiRequest) -> Answer:
        return self._create(request)

    async def _create(self, request: ApiRequest) -> FinalAnswer:
        body: CreatePartitionsRequest = request.body
        times = Counter(topic.name for topic in body.topics)
        refused: dict[str, _Result] = {}
        for name, count in times.items():
            if count > 1:
                refused[name] = _Result(
                    name=name, error_code=Error.INVALID_REQUEST, error_message="Duplicate topic in request."
                )
            elif not may(self._authorizer, request.context, AclOperation.ALTER, name):
                refused[name] = _Result(
                    name=name,
                    error_code=Error.TOPIC_AUTHORIZATION_FAILED,
                    error_message="Authorization failed.",
                )
        changes = self._throttling.changes(request, _THROTTLING_IS_TOLD_FROM)
        costs: dict[str, int] = {}
        for topic in body.topics:
            if topic.name in refused or body.validate_only:
                continue
            known = self._cache.image.topics.get(topic.name)
            costs[topic.name] = max(0, topic.count - (len(known.partitions) if known is not None else 0))
            if not changes.allows(costs[topic.name]):
                refused[topic.name] = _Result(
                    name=topic.name,
                    error_code=Error.THROTTLING_QUOTA_EXCEEDED,
                    error_message=Error.THROTTLING_QUOTA_EXCEEDED.message,
                )
        results = list(refused.values())
        allowed = [topic for topic in body.topics if topic.name not in refused]
        if allowed:
            wanted = CreatePartitionsRequest(
                topics=allowed, timeout_ms=body.timeout_ms, validate_only=body.validate_only
            )
            answer: CreatePartitionsResponse = await self._controller.handle(
                ApiKey.CREATE_PARTITIONS, wanted, request.context
            )
            for result in answer.results:
                if result.error_code not in (Error.NONE, Error.REQUEST_TIMED_OUT):
                    changes.give_back(costs.get(result.name, 0))
            results += answer.results
        return CreatePartitionsResponse(results=results, throttle_time_ms=changes.throttle_ms)
