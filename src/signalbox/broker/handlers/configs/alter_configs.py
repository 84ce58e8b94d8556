"""AlterConfigs (key 33) and IncrementalAlterConfigs (key 44): decided by the active controller. KIP-133,
KIP-339; versions 0-2, 0-1.

Both work per resource: the broker that receives the request rejects resources that the principal may not alter, and
configs that are invalid for this broker; it sends the other resources to the controller in one request and merges the
responses (F6). A resource named twice is INVALID_REQUEST. Needs ALTER_CONFIGS on the topic, or on the cluster for all
other resources. AlterConfigs replaces a resource's complete configuration; the incremental API changes single keys.
Loggers belong to the broker that receives the request (KIP-412): the incremental API changes them there at once and
nothing is forwarded.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult
from signalbox.broker.configs.broker_config_validator import BrokerConfigValidator
from signalbox.broker.configs.broker_loggers import BrokerLoggers
from signalbox.broker.configs.config_resources import rejection
from signalbox.broker.ports import ActiveController
from signalbox.broker.resource_requests import RESOURCE_REQUESTS, Rejected
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.config_resource import ConfigResourceType
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer


class AlterConfigsHandler:
    """One handler for both APIs: they differ in the controller's decision, not in authorization."""

    def __init__(
        self,
        api_key: ApiKey,
        controller: ActiveController,
        authorizer: Authorizer,
        own: BrokerConfigValidator | None = None,
        loggers: BrokerLoggers | None = None,
    ) -> None:
        self._api_key = api_key
        self._controller = controller
        self._authorizer = authorizer
        self._own = own
        self._loggers = loggers
        self._api = RESOURCE_REQUESTS[api_key]

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        return self._alter(request, self.rejected(request))

    def rejected(self, request: ApiRequest) -> Awaitable[Rejected]:
        """Results of the resources that are not sent to the controller: those that the principal may not alter, those
        that are named twice, configs that are invalid for this broker, and its own loggers (altered or not). Yields."""
        rejected: Rejected = {}
        times = self._api.times(request.body)
        for key, resource in self._api.entries(request.body):
            error = self._forbidden(request, resource, times[key])
            if error is not None:
                rejected[key] = self._result(resource, *error)
            elif self._is_logger(request, resource):
                rejected[key] = self._altered_logger(resource, request.body.validate_only)
        return self._with_own_rejections(request, rejected)

    async def _alter(self, request: ApiRequest, authorization: Awaitable[Rejected]) -> FinalResponse:
        rejected = await authorization
        remaining = self._api.remaining_request(request.body, rejected)
        response = None
        if remaining is not None:
            response = await self._controller.handle(self._api_key, remaining, request.context)
        combined: FinalResponse = self._api.combined_response(request.body, rejected, response)
        return combined

    def _forbidden(self, request: ApiRequest, resource: Any, times: int) -> tuple[Error, str] | None:
        if times > 1:
            return Error.INVALID_REQUEST, "Each resource must appear at most once."
        return rejection(
            self._authorizer,
            request.context,
            AclOperation.ALTER_CONFIGS,
            resource.resource_type,
            resource.resource_name,
        )

    def _is_logger(self, request: ApiRequest, resource: Any) -> bool:
        return (
            self._loggers is not None
            and self._api_key == ApiKey.INCREMENTAL_ALTER_CONFIGS
            and resource.resource_type == ConfigResourceType.BROKER_LOGGER
            and request.forwarded_by is None
        )

    def _altered_logger(self, resource: Any, validate_only: bool) -> Any:
        assert self._loggers is not None
        try:
            self._loggers.alter(resource.resource_name, resource.configs, validate_only)
        except KafkaError as rejection:
            return self._result(resource, rejection.error, rejection.message)
        return self._result(resource, Error.NONE, None)

    async def _with_own_rejections(self, request: ApiRequest, rejected: Rejected) -> Rejected:
        # The broker that received a forwarded request from its client has validated it.
        if self._own is None or request.forwarded_by is not None:
            return rejected
        for key, resource in self._api.entries(request.body):
            if key not in rejected:
                error = await self._own.rejection(self._api_key, resource, request.body.validate_only)
                if error is not None:
                    rejected[key] = self._result(resource, *error)
        return rejected

    def _result(self, resource: Any, error: Error, message: str | None) -> Any:
        return API_TABLE[self._api_key].response.AlterConfigsResourceResponse(
            error_code=error,
            error_message=message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
