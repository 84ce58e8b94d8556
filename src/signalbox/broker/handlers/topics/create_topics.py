"""CreateTopics (key 19): handled by the active controller; other brokers forward. Versions 2-7.

The handler checks authorization (CREATE on the cluster or on the topic), duplicate names in a request
(INVALID_REQUEST), and whether config values may be returned (DESCRIBE_CONFIGS on the topic). A forwarding broker checks
the first two as well (F6). `controller/topics/topic_control` validates the topics.
"""

from __future__ import annotations

from collections.abc import Container

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult
from signalbox.broker.authorization.authorization import may, may_on_cluster
from signalbox.broker.client_quotas import Throttling
from signalbox.broker.ports import ActiveController
from signalbox.broker.resource_requests import RESOURCE_REQUESTS, Rejected
from signalbox.common.cooperative_task import yielding
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_Result = CreateTopicsResponse.CreatableTopicResult
_API = RESOURCE_REQUESTS[ApiKey.CREATE_TOPICS]
_RETURNS_THROTTLING_FROM = 6
_CLUSTER_METADATA_TOPIC = "__cluster_metadata"  # the name of KRaft's own log, which cannot be created


class CreateTopicsHandler:
    def __init__(
        self, controller: ActiveController, authorizer: Authorizer, throttling: Throttling, default_partitions: int
    ) -> None:
        self._controller = controller
        self._authorizer = authorizer
        self._throttling = throttling
        self._default_partitions = default_partitions

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        return self._create(request, self.rejected(request))

    def rejected(self, request: ApiRequest) -> Rejected:
        """Results of the topics that the principal may not create, and of those that are named twice. Yields."""
        context = request.context
        anywhere = may_on_cluster(self._authorizer, context, AclOperation.CREATE)
        rejected: Rejected = {}
        for name, times in yielding(_API.times(request.body).items()):
            allowed = anywhere or may(self._authorizer, context, AclOperation.CREATE, str(name))
            if times > 1:
                message = f"Topic {name} is named more than once in the request"
                rejected[name] = _rejection(str(name), Error.INVALID_REQUEST, message)
            elif not allowed or name == _CLUSTER_METADATA_TOPIC:
                rejected[name] = _rejection(str(name), Error.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
        return rejected

    async def _create(self, request: ApiRequest, rejected: Rejected) -> FinalResponse:
        body: CreateTopicsRequest = request.body
        changes = self._throttling.changes(request, _RETURNS_THROTTLING_FROM)
        costs = {} if body.validate_only else self._partition_counts(body, rejected)
        for name, partitions in costs.items():
            if not changes.allows(partitions):
                error = Error.THROTTLING_QUOTA_EXCEEDED
                rejected[name] = _rejection(name, error, error.message)
        response: CreateTopicsResponse | None = None
        remaining = _API.remaining_request(body, rejected)
        if remaining is not None:
            response = await self._controller.handle(ApiKey.CREATE_TOPICS, remaining, request.context)
            for result in response.topics:
                if result.error_code not in (Error.NONE, Error.REQUEST_TIMED_OUT):
                    changes.give_back(costs.get(result.name, 0))
                self._hide_configs(request, result)
        combined: CreateTopicsResponse = _API.combined_response(body, rejected, response)
        combined.throttle_time_ms = changes.throttle_ms
        return combined

    def _partition_counts(self, body: CreateTopicsRequest, rejected: Container[object]) -> dict[str, int]:
        """Number of partitions of each topic that is not rejected (KIP-599)."""
        return {
            topic.name: len(topic.assignments) or max(topic.num_partitions, 0) or self._default_partitions
            for topic in body.topics
            if topic.name not in rejected
        }

    def _hide_configs(self, request: ApiRequest, result: _Result) -> None:
        """Remove partitions, replication factor and configs from the result unless the principal has
        DESCRIBE_CONFIGS."""
        if result.error_code == Error.NONE and not may(
            self._authorizer, request.context, AclOperation.DESCRIBE_CONFIGS, result.name
        ):
            result.topic_config_error_code = Error.TOPIC_AUTHORIZATION_FAILED
            result.num_partitions = -1
            result.replication_factor = -1
            result.configs = None


def _rejection(name: str, error: Error, message: str) -> _Result:
    return _Result(name=name, error_code=error, error_message=message)
