"""CreateTopics (key 19): answered by the active controller; other brokers forward. Versions 2-7.

Here: who may (CREATE on the cluster or on the topic), one name twice in a request (INVALID_REQUEST), and which
config values may be shown (DESCRIBE_CONFIGS on the topic). What a topic may look like is `controller/topic_control`'s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container

from signalbox.broker.api_request import Answer, ApiRequest, FinalAnswer
from signalbox.broker.authorization import allowed_names, may, may_on_cluster
from signalbox.broker.ports import ActiveController
from signalbox.broker.throttling import Throttling
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.security.acl import AclOperation, ResourceType
from signalbox.security.authorizer import Authorizer

_Result = CreateTopicsResponse.CreatableTopicResult
_THROTTLING_IS_TOLD_FROM = 6


class CreateTopicsHandler:
    def __init__(
        self, controller: ActiveController, authorizer: Authorizer, throttling: Throttling, default_partitions: int
    ) -> None:
        self._controller = controller
        self._authorizer = authorizer
        self._throttling = throttling
        self._default_partitions = default_partitions

    def __call__(self, request: ApiRequest) -> Answer:
        return self._create(request)

    async def _create(self, request: ApiRequest) -> FinalAnswer:
        body: CreateTopicsRequest = request.body
        refused = self._refused(request, body)
        changes = self._throttling.changes(request, _THROTTLING_IS_TOLD_FROM)
        costs = {} if body.validate_only else self._costs(body, refused)
        for name, partitions in costs.items():
            if not changes.allows(partitions):
                refused[name] = _Result(
                    name=name,
                    error_code=Error.THROTTLING_QUOTA_EXCEEDED,
                    error_message=Error.THROTTLING_QUOTA_EXCEEDED.message,
                    num_partitions=-1,
                    replication_factor=-1,
                )
        allowed = [topic for topic in body.topics if topic.name not in refused]
        results = list(refused.values())
        if allowed or not body.topics:
            wanted = CreateTopicsRequest(topics=allowed, timeout_ms=body.timeout_ms, validate_only=body.validate_only)
            answer: CreateTopicsResponse = await self._controller.handle(ApiKey.CREATE_TOPICS, wanted, request.context)
            for result in answer.topics:
                if result.error_code not in (Error.NONE, Error.REQUEST_TIMED_OUT):
                    changes.give_back(costs.get(result.name, 0))
                results.append(self._withheld(request, result))
        return CreateTopicsResponse(topics=results, throttle_time_ms=changes.throttle_ms)

    def _costs(self, body: CreateTopicsRequest, refused: Container[str]) -> dict[str, int]:
        """Partitions of each topic that may be created (KIP-599)."""
        return {
            topic.name: len(topic.assignments) or max(topic.num_partitions, 0) or self._default_partitions
            for topic in body.topics
            if topic.name not in refused
        }

    def _refused(self, request: ApiRequest, body: CreateTopicsRequest) -> dict[str, _Result]:
        refused = {
            name: _Result(
                name=name,
                error_code=Error.INVALID_REQUEST,
                error_message=f"Topic {name} stands more than once in the request",
                num_partitions=-1,
                replication_factor=-1,
            )
            for name, times in Counter(topic.name for topic in body.topics).items()
            if times > 1
        }
        if may_on_cluster(self._authorizer, request.context, AclOperation.CREATE):
            return refused
        names = {topic.name for topic in body.topics} - refused.keys()
        allowed = allowed_names(self._authorizer, request.context, AclOperation.CREATE, ResourceType.TOPIC, names)
        for name in sorted(names - allowed):
            refused[name] = _Result(
                name=name,
                error_code=Error.TOPIC_AUTHORIZATION_FAILED,
                error_message="Authorization failed.",
                num_partitions=-1,
                replication_factor=-1,
            )
        return refused

    def _withheld(self, request: ApiRequest, result: _Result) -> _Result:
        if result.error_code == Error.NONE and not may(
            self._authorizer, request.context, AclOperation.DESCRIBE_CONFIGS, result.name
        ):
            result.topic_config_error_code = Error.TOPIC_AUTHORIZATION_FAILED
            result.num_partitions = -1
            result.replication_factor = -1
            result.configs = None
        return result
