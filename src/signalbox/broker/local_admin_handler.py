"""Below the gate (SPEC F17): changes that a broker would forward at and above the gate.

A broker stores changes of configs, ACLs, quotas, users and tokens itself (direct metadata write). All other changes are
the controller's: any other broker returns NOT_CONTROLLER, and clients find the controller by Metadata. On the
controller all requests are decided as above the gate.
"""

from __future__ import annotations

import inspect
from collections.abc import Container
from typing import Any, Protocol

from signalbox.broker.api_request import ApiRequest, FinalAnswer
from signalbox.broker.error_responses import failure
from signalbox.broker.ports import ActiveController
from signalbox.broker.routes import RouteTable
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.response_errors import has_not_controller_error
from signalbox.security.request_context import RequestContext

# As in Kafka: these return NOT_CONTROLLER before they authorize the request; the others authorize it first.
_REJECTED_UNSEEN = frozenset((ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS))


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

    async def forward(self, request: ApiRequest) -> FinalAnswer:
        """This broker's own response."""
        key = request.header.api_key
        if key in _REJECTED_UNSEEN:
            return failure(request, Error.NOT_CONTROLLER)
        answer = self._routes[key].handler(request)
        return await answer if inspect.isawaitable(answer) else answer


class OwnWriter:
    """The controller that handlers use below the gate: the APIs in `stored_here` are handled by this broker when it is
    not the controller, or is no longer the controller."""

    def __init__(self, controller: ActiveController, own: LocalAdminHandler, stored_here: Container[int]) -> None:
        self._controller = controller
        self._own = own
        self._stored_here = stored_here

    @property
    def is_active(self) -> bool:
        return self._controller.is_active

    async def handle(self, api_key: int, request: Any, context: RequestContext) -> Any:
        if api_key not in self._stored_here:
            return await self._controller.handle(api_key, request, context)
        if self._controller.is_active:
            answer = await self._controller.handle(api_key, request, context)
            if not has_not_controller_error(answer):
                return answer
        return await self._own.handle(api_key, request)


class OwnTopicWriter(OwnWriter):
    """The same for auto-created topics: this broker never sends these creations to another broker."""

    @property
    def is_active(self) -> bool:
        return True
