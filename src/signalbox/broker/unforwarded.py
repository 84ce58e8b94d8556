"""Below the gate of the roll-out (SPEC F17): what a broker does with changes that it would forward from there on.

Changes of configs, ACLs, quotas, users and tokens it stores by itself. The rest is the controller's alone: any other
broker says NOT_CONTROLLER, and clients look in Metadata who it is. The controller decides everything as usual.
"""

from __future__ import annotations

import inspect
from collections.abc import Container
from typing import Any, Protocol

from signalbox.broker.api_request import ApiRequest, FinalAnswer
from signalbox.broker.error_responses import failure
from signalbox.broker.ports import ActiveController
from signalbox.broker.routes import RouteTable
from signalbox.protocol.answer_errors import says_not_controller
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.security.request_context import RequestContext

# As Kafka: these say so before they look at who asks; the others are authorised first.
_REFUSED_UNSEEN = frozenset((ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS))


class StoresByItself(Protocol):
    async def handle(self, api_key: int, request: Any) -> Any:
        """The answer, once this broker has stored the change."""
        ...


class UnforwardedRequests:
    """The router's forwarder below the gate: nothing leaves the broker."""

    def __init__(self) -> None:
        self._routes: RouteTable = {}

    def install(self, routes: RouteTable) -> None:
        """The route table, which comes after the router."""
        self._routes = routes

    async def forward(self, request: ApiRequest) -> FinalAnswer:
        """This broker's own answer."""
        key = request.header.api_key
        if key in _REFUSED_UNSEEN:
            return failure(request, Error.NOT_CONTROLLER)
        answer = self._routes[key].handler(request)
        return await answer if inspect.isawaitable(answer) else answer


class OwnWriter:
    """The controller as handlers below the gate know it: what `stored_here` lists is done by this broker when it is not
    the controller, or is so no more."""

    def __init__(self, controller: ActiveController, own: StoresByItself, stored_here: Container[int]) -> None:
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
            if not says_not_controller(answer):
                return answer
        return await self._own.handle(api_key, request)


class OwnTopicWriter(OwnWriter):
    """The same for topics that are made because somebody asked for them: never anybody else's business."""

    @property
    def is_active(self) -> bool:
        return True
