"""Below the gate (SPEC F17): changes that a broker would forward at and above the gate.

A broker stores changes of configs, ACLs, quotas, users and tokens itself (direct metadata write). All other changes are
the controller's: any other broker returns NOT_CONTROLLER, and clients find the controller by Metadata. On the
controller all requests are decided as above the gate.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Protocol

from signalbox.broker.api_request import ApiRequest, FinalResponse, settled
from signalbox.broker.error_responses import failure
from signalbox.broker.ports import ActiveController
from signalbox.broker.routes import RouteTable
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.response_errors import has_not_controller_error
from signalbox.security.request_context import RequestContext

# As in Kafka: these return NOT_CONTROLLER before they authorize the request; the others authorize it first.
_REJECTED_BEFORE_AUTHORIZATION = frozenset((ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS))


class LocalAdminHandler(Protocol):
    async def handle(self, api_key: int, request: Any) -> Any:
        """The response, after this broker has stored the change."""
        ...


class LocalAdminRequests:
    """The router's forwarder below the gate: requests are handled locally and never forwarded."""

    def __init__(self) -> None:
        self._routes: RouteTable = {}

    def install(self, routes: RouteTable) -> None:
        """Set the route table, which is created after the router."""
        self._routes = routes

    async def forward(self, request: ApiRequest) -> FinalResponse:
        """This broker's local response."""
        key = request.header.api_key
        if key in _REJECTED_BEFORE_AUTHORIZATION:
            return failure(request, Error.NOT_CONTROLLER)
        response = self._routes[key].handler(request)
        return await settled(response)


class DirectWriter:
    """The controller that handlers use below the gate: the APIs in `local_apis` are handled by this broker when it is
    not the controller, or is no longer the controller."""

    def __init__(self, controller: ActiveController, local: LocalAdminHandler, local_apis: Container[int]) -> None:
        self._controller = controller
        self._local = local
        self._local_apis = local_apis

    @property
    def is_active(self) -> bool:
        return self._controller.is_active

    async def handle(self, api_key: int, request: Any, context: RequestContext) -> Any:
        if api_key not in self._local_apis:
            return await self._controller.handle(api_key, request, context)
        if self._controller.is_active:
            response = await self._controller.handle(api_key, request, context)
            if not has_not_controller_error(response):
                return response
        return await self._local.handle(api_key, request)


class DirectTopicWriter(DirectWriter):
    """The same for auto-created topics: this broker never sends these creations to another broker."""

    @property
    def is_active(self) -> bool:
        return True
