"""AlterConfigs (key 33) and IncrementalAlterConfigs (key 44): decided by the active controller. KIP-133,
KIP-339; versions 0-2, 0-1.

Both are per resource: those the principal may not touch, and configs that this broker itself could not obey, are
answered by the broker that the client asks; the rest goes to the controller in one request, the answers are merged
(F6). A resource named twice is INVALID_REQUEST. Needs ALTER_CONFIGS on the topic, or on the cluster for brokers.
AlterConfigs replaces a resource's whole configuration, the incremental form changes keys.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from signalbox.broker.api_request import Answer, ApiRequest, FinalAnswer
from signalbox.broker.config_resources import refusal
from signalbox.broker.own_configs import OwnConfigs
from signalbox.broker.partial_forwarding import Split
from signalbox.broker.ports import ActiveController
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer


class AlterConfigsHandler:
    """One handler for both APIs: they differ in what the controller does with the entries, not in who may."""

    def __init__(
        self, api_key: ApiKey, controller: ActiveController, authorizer: Authorizer, own: OwnConfigs | None = None
    ) -> None:
        self._api_key = api_key
        self._controller = controller
        self._authorizer = authorizer
        self._own = own

    def __call__(self, request: ApiRequest) -> Answer:
        return self._alter(request)

    async def split(self, request: ApiRequest) -> Split | None:
        """What this broker answers itself when the request is forwarded; None when that is nothing."""
        refused, allowed = await self._sort(request)
        if not refused:
            return None
        return Split(self._request(request, allowed) if allowed else None, partial(self._merged, refused))

    async def _alter(self, request: ApiRequest) -> FinalAnswer:
        refused, allowed = await self._sort(request)
        answer = None
        if allowed:
            wanted = self._request(request, allowed)
            answer = await self._controller.handle(self._api_key, wanted, request.context)
        merged: FinalAnswer = self._merged(refused, answer)
        return merged

    async def _sort(self, request: ApiRequest) -> tuple[list[Any], list[Any]]:
        """The answers to resources that are refused here, and the resources that the controller decides."""
        body: Any = request.body
        response = API_TABLE[self._api_key].response
        times = Counter((r.resource_type, r.resource_name) for r in body.resources)
        refused, allowed = [], []
        for resource in body.resources:
            error = await self._error(request, resource, times)
            if error is None:
                allowed.append(resource)
                continue
            refused.append(
                response.AlterConfigsResourceResponse(
                    error_code=error[0],
                    error_message=error[1],
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
            )
        return refused, allowed

    def _request(self, request: ApiRequest, resources: list[Any]) -> Any:
        return API_TABLE[self._api_key].request(resources=resources, validate_only=request.body.validate_only)

    def _merged(self, refused: list[Any], answer: Any) -> Any:
        return API_TABLE[self._api_key].response(responses=[*refused, *(answer.responses if answer else ())])

    async def _error(
        self, request: ApiRequest, resource: Any, times: Counter[tuple[int, str]]
    ) -> tuple[Error, str] | None:
        if times[resource.resource_type, resource.resource_name] > 1:
            return Error.INVALID_REQUEST, "Each resource must appear at most once."
        denied = refusal(
            self._authorizer,
            request.context,
            AclOperation.ALTER_CONFIGS,
            resource.resource_type,
            resource.resource_name,
        )
        # What came forwarded was judged by the broker that took it from its client.
        if denied is not None or self._own is None or request.forwarded_by is not None:
            return denied
        return await self._own.refusal(self._api_key, resource, request.body.validate_only)
