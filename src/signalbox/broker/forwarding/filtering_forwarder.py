"""Rejects unauthorized requests and resources locally, forwards the remaining request and merges the responses
(KIP-590, F6).

A filter per API returns what is rejected here: the whole request, with an error or a response, or some of its
resources. If nothing is rejected, the client's bytes are forwarded unchanged; if nothing remains, nothing is forwarded.
The active controller authorizes again, so a filter that accepts a request gives no right.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

from signalbox.broker.api_request import ApiRequest, CloseConnection, FinalResponse, HandlerResult, RawResponse
from signalbox.broker.authorization.cluster_rights import CLUSTER_RIGHTS, require_cluster_right
from signalbox.broker.ports import Forwarder
from signalbox.broker.resource_requests import RESOURCE_REQUESTS, Rejected, ResourceRequests
from signalbox.broker.routes import ROUTES, Disposition
from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.headers import decode_request_header, decode_response_header
from signalbox.protocol.message import Message
from signalbox.security.authorizer import Authorizer

Rejection = Rejected | Message
Filter = Callable[[ApiRequest], Rejection | Awaitable[Rejection]]
"""Returns the results of the resources that are rejected here. To reject the whole request, it returns the response, or
raises a KafkaError, which is returned in the API's error response."""


class ResourceAuthorizer(Protocol):
    """The handler of an API with its own filter: on the active controller it authorizes by the same function."""

    def rejected(self, request: ApiRequest) -> Rejection | Awaitable[Rejection]: ...

    def __call__(self, request: ApiRequest) -> HandlerResult: ...


def forwarding_filters(
    authorizer: Authorizer, resource_authorizers: Mapping[ApiKey, ResourceAuthorizer]
) -> dict[int, Filter]:
    """Filters by API key: a right on the cluster, or a handler's `rejected`. ValueError names forwarded APIs without a
    filter."""

    def reject_request(request: ApiRequest) -> Rejection:
        require_cluster_right(authorizer, request.context, request.header.api_key)
        return {}

    filters: dict[int, Filter] = dict.fromkeys(CLUSTER_RIGHTS, reject_request)
    filters |= {int(key): resource_authorizer.rejected for key, resource_authorizer in resource_authorizers.items()}
    routed = [row.api_key for row in ROUTES if row.disposition is Disposition.CONTROLLER]
    unseen = [key.name for key in routed if key not in filters]
    if unseen:
        raise ValueError(f"forwarded APIs without an authorization filter: {', '.join(unseen)}")
    return filters


class FilteringForwarder:
    """Decorates `Forwarder`."""

    def __init__(self, forwarder: Forwarder, scheduler: TaskScheduler) -> None:
        self._forwarder = forwarder
        self._scheduler = scheduler
        self._filters: Mapping[int, Filter] = {}

    def install(self, filters: Mapping[int, Filter]) -> None:
        """Set the filters by API key. They need the handlers, which are created after the router."""
        self._filters = filters

    def forward(self, request: ApiRequest) -> Awaitable[FinalResponse]:
        """The complete response; KafkaError at once when the whole request is rejected. The authorization of each
        resource, which may take long, is done before this function returns. Yields."""
        return self._settled(request, self._filters[request.header.api_key](request))

    async def _settled(self, request: ApiRequest, rejection: Rejection | Awaitable[Rejection]) -> FinalResponse:
        rejected = await rejection if inspect.isawaitable(rejection) else rejection
        if isinstance(rejected, Message):
            return rejected
        if not rejected:
            request.was_forwarded = True
            return await self._forwarder.forward(request)
        api = RESOURCE_REQUESTS[request.header.api_key]
        remaining = await self._scheduler.result_of(partial(_remaining_request, request, api, rejected))
        controller_response = None
        if remaining is not None:
            request.was_forwarded = True
            controller_response = await self._forwarder.forward(remaining)
            if isinstance(controller_response, CloseConnection):
                return controller_response
        combined: FinalResponse = await self._scheduler.result_of(
            partial(_combined_response, request, api, rejected, controller_response)
        )
        return combined


def _remaining_request(request: ApiRequest, api: ResourceRequests, rejected: Rejected) -> ApiRequest | None:
    """The request without the rejected resources, with the client's own header; None when no resource remains.
    Yields."""
    body = api.remaining_request(request.body, rejected)
    if body is None:
        return None
    header, offset = decode_request_header(request.frame)
    frame = bytes(request.frame[:offset]) + b"".join(map(bytes, body.encode_long(header.api_version)))
    return ApiRequest(header, body, request.context, frame, request.received_at)


def _combined_response(
    request: ApiRequest, api: ResourceRequests, rejected: Rejected, controller_response: FinalResponse | None
) -> Any:
    """The complete response. `controller_response`: the active controller's, or None if nothing was forwarded.
    Yields."""
    response: Any = controller_response
    if isinstance(controller_response, RawResponse):
        header = request.header
        _, offset = decode_response_header(controller_response.payload, header.api_key, header.api_version)
        response, _ = API_TABLE[header.api_key].response.decode_long(
            controller_response.payload, header.api_version, offset
        )
    return api.combined_response(request.body, rejected, response)
