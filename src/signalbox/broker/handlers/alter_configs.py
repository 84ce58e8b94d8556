"""AlterConfigs (key 33) and IncrementalAlterConfigs (key 44): decided by the active controller. KIP-133,
KIP-339; versions 0-2, 0-1.

Both are per resource: those the principal may not touch are answered here, the rest goes to the controller in one
request, the answers are merged (F6). A resource named twice is INVALID_REQUEST. Needs ALTER_CONFIGS on the topic, or
on the cluster for brokers. AlterConfigs replaces a resource's whole configuration, the incremental form changes keys.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from signalbox.broker.api_request import Answer, ApiRequest, FinalAnswer
from signalbox.broker.config_resources import refusal
from signalbox.broker.ports import ActiveController
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer


class AlterConfigsHandler:
    """One handler for both APIs: they differ in what the controller does with the entries, not in who may."""

    def __init__(self, api_key: ApiKey, controller: ActiveController, authorizer: Authorizer) -> None:
        self._api_key = api_key
        self._controller = controller
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> Answer:
        return self._alter(request)

    async def _alter(self, request: ApiRequest) -> FinalAnswer:
        body: Any = request.body
        response = API_TABLE[self._api_key].response
        times = Counter((r.resource_type, r.resource_name) for r in body.resources)
        results = []
        allowed = []
        for resource in body.resources:
            error = self._error(request, resource, times)
            if error is None:
                allowed.append(resource)
                continue
            results.append(
                response.AlterConfigsResourceResponse(
                    error_code=error[0],
                    error_message=error[1],
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
            )
        if allowed:
            wanted = API_TABLE[self._api_key].request(resources=allowed, validate_only=body.validate_only)
            answer = await self._controller.handle(self._api_key, wanted, request.context)
            results += answer.responses
        merged: FinalAnswer = response(responses=results)
        return merged

    def _error(self, request: ApiRequest, resource: Any, times: Counter[tuple[int, str]]) -> tuple[Error, str] | None:
        if times[resource.resource_type, resource.resource_name] > 1:
            return Error.INVALID_REQUEST, "Each resource must appear at most once."
        return refusal(
            self._authorizer,
            request.context,
            AclOperation.ALTER_CONFIGS,
            resource.resource_type,
            resource.resource_name,
        )
