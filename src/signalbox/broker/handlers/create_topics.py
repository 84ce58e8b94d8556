"""CreateTopics (key 19): answered by the active controller; other brokers forward. Versions 2-7.

Here: who may (CREATE on the cluster or on the topic), one name twice in a request (INVALID_REQUEST), and which
config values may be shown (DESCRIBE_CONFIGS on the topic). The first two are looked at by the broker that is asked as
well (F6). What a topic may look like is `controller/topic_control`'s.
"""

from __future__ import annotations

from collections.abc import Container

from signalbox.broker.api_request import Answer, ApiRequest, FinalAnswer
from signalbox.broker.authorization import may, may_on_cluster
from signalbox.broker.ports import ActiveController
from signalbox.broker.resource_requests import RESOURCE_REQUESTS, Refused
from signalbox.broker.throttling import Throttling
from signalbox.common.long_work import unhurried
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_Result = CreateTopicsResponse.CreatableTopicResult
_SHAPE = RESOURCE_REQUESTS[ApiKey.CREATE_TOPICS]
_THROTTLING_IS_TOLD_FROM = 6
_CLUSTER_METADATA_TOPIC = "__cluster_metadata"  # the name of KRaft's own log: nobody creates it


class CreateTopicsHandler:
    def __init__(
        self, controller: ActiveController, authorizer: Authorizer, throttling: Throttling, default_partitions: int
    ) -> None:
        self._controller = controller
        self._authorizer = authorizer
        self._throttling = throttling
        self._default_partitions = default_partitions

    def __call__(self, request: ApiRequest) -> Answer:
        return self._create(request, self.refused(request))

    def refused(self, request: ApiRequest) -> Refused:
        """The topics that the principal may not create, and those that are named twice."""
        context = request.context
        anywhere = may_on_cluster(self._authorizer, context, AclOperation.CREATE)
        refused: Refused = {}
        for name, times in unhurried(_SHAPE.times(request.body).items()):
            allowed = anywhere or may(self._authorizer, context, AclOperation.CREATE, str(name))
            if times > 1:
                message = f"Topic {name} stands more than once in the request"
                refused[name] = _refusal(str(name), Error.INVALID_REQUEST, message)
            elif not allowed or name == _CLUSTER_METADATA_TOPIC:
                refused[name] = _refusal(str(name), Error.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
        return refused

    async def _create(self, request: ApiRequest, refused: Refused) -> FinalAnswer:
        body: CreateTopicsRequest = request.body
        changes = self._throttling.changes(request, _THROTTLING_IS_TOLD_FROM)
        costs = {} if body.validate_only else self._costs(body, refused)
        for name, partitions in costs.items():
            if not changes.allows(partitions):
                error = Error.THROTTLING_QUOTA_EXCEEDED
                refused[name] = _refusal(name, error, error.message)
        answer: CreateTopicsResponse | None = None
        wanted = _SHAPE.rest(body, refused)
        if wanted is not None:
            answer = await self._controller.handle(ApiKey.CREATE_TOPICS, wanted, request.context)
            for result in answer.topics:
                if result.error_code not in (Error.NONE, Error.REQUEST_TIMED_OUT):
                    changes.give_back(costs.get(result.name, 0))
                self._withhold(request, result)
        merged: CreateTopicsResponse = _SHAPE.merged(body, refused, answer)
        merged.throttle_time_ms = changes.throttle_ms
        return merged

    def _costs(self, body: CreateTopicsRequest, refused: Container[object]) -> dict[str, int]:
        """Partitions of each topic that may be created (KIP-599)."""
        return {
            topic.name: len(topic.assignments) or max(topic.num_partitions, 0) or self._default_partitions
            for topic in body.topics
            if topic.name not in refused
        }

    def _withhold(self, request: ApiRequest, result: _Result) -> None:
        """What the topic looks like is told to those who may see its configs."""
        if result.error_code == Error.NONE and not may(
            self._authorizer, request.context, AclOperation.DESCRIBE_CONFIGS, result.name
        ):
            result.topic_config_error_code = Error.TOPIC_AUTHORIZATION_FAILED
            result.num_partitions = -1
            result.replication_factor = -1
            result.configs = None


def _refusal(name: str, error: Error, message: str) -> _Result:
    return _Result(name=name, error_code=error, error_message=message)
