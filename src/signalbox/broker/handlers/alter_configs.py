"""AlterConfigs (key 33) and IncrementalAlterConfigs (key 44): decided by the active controller. KIP-133,
KIP-339; versions 0-2, 0-1.

Both are per resource: those the principal may not touch, and configs that this broker itself could not obey, are
answered by the broker that the client asks; the rest goes to the controller in one request, the answers are merged
(F6). A resource named twice is INVALID_REQUEST. Needs ALTER_CONFIGS on the topic, or on the cluster for all else.
AlterConfigs replaces a resource's whole configuration, the incremental form changes keys. Loggers are the asked
broker's own (KIP-412): the incremental form changes them there and then, and nobody else hears of it.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from signalbox.broker.api_request import Answer, ApiRequest, FinalAnswer
from signalbox.broker.broker_loggers import BrokerLoggers
from signalbox.broker.config_resources import ConfigResourceType, refusal
from signalbox.broker.own_configs import OwnConfigs
from signalbox.broker.ports import ActiveController
from signalbox.broker.resource_requests import RESOURCE_REQUESTS, Refused
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer


class AlterConfigsHandler:
    """One handler for both APIs: they differ in what the controller does with the entries, not in who may."""

    def __init__(
        self,
        api_key: ApiKey,
        controller: ActiveController,
        authorizer: Authorizer,
        own: OwnConfigs | None = None,
        loggers: BrokerLoggers | None = None,
    ) -> None:
        self._api_key = api_key
        self._controller = controller
        self._authorizer = authorizer
        self._own = own
        self._loggers = loggers
        self._shape = RESOURCE_REQUESTS[api_key]

    def __call__(self, request: ApiRequest) -> Answer:
        return self._alter(request, self.refused(request))

    def refused(self, request: ApiRequest) -> Awaitable[Refused]:
        """The resources that the principal may not alter, those that are named twice, configs that this broker could
        not obey, and its own loggers, altered or not."""
        refused: Refused = {}
        times = self._shape.times(request.body)
        for key, resource in self._shape.entries(request.body):
            error = self._forbidden(request, resource, times[key])
            if error is not None:
                refused[key] = self._result(resource, *error)
            elif self._is_logger(request, resource):
                refused[key] = self._altered_logger(resource, request.body.validate_only)
        return self._with_own_refusals(request, refused)

    async def _alter(self, request: ApiRequest, judged: Awaitable[Refused]) -> FinalAnswer:
        refused = await judged
        wanted = self._shape.rest(request.body, refused)
        answer = None
        if wanted is not None:
            answer = await self._controller.handle(self._api_key, wanted, request.context)
        merged: FinalAnswer = self._shape.merged(request.body, refused, answer)
        return merged

    def _forbidden(self, request: ApiRequest, resource: Any, times: int) -> tuple[Error, str] | None:
        if times > 1:
            return Error.INVALID_REQUEST, "Each resource must appear at most once."
        return refusal(
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
        except KafkaError as refusal:
            return self._result(resource, refusal.error, refusal.message)
        return self._result(resource, Error.NONE, None)

    async def _with_own_refusals(self, request: ApiRequest, refused: Refused) -> Refused:
        # What came forwarded was judged by the broker that took it from its client.
        if self._own is None or request.forwarded_by is not None:
            return refused
        for key, resource in self._shape.entries(request.body):
            if key not in refused:
                error = await self._own.refusal(self._api_key, resource, request.body.validate_only)
                if error is not None:
                    refused[key] = self._result(resource, *error)
        return refused

    def _result(self, resource: Any, error: Error, message: str | None) -> Any:
        return API_TABLE[self._api_key].response.AlterConfigsResourceResponse(
            error_code=error,
            error_message=message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
