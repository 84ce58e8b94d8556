"""What the request handlers of a broker below the gate use in place of the controller (SPEC F17).

A broker stores changes of configs, ACLs, quotas, users and tokens itself (direct metadata write). All other changes are
the controller's: any other broker returns NOT_CONTROLLER, and clients find the controller by Metadata. On the
controller all requests are decided as above the gate.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container
from typing import Any, Protocol

from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import has_not_controller_error
from signalbox.security.request_context import RequestContext


class LocalController(Protocol):
    """The controller on this node, active or not: `broker/ports.ActiveController`, in a higher layer."""

    @property
    def is_active(self) -> bool: ...

    async def handle(self, api_key: int, request: Any, context: RequestContext) -> Any: ...


class DirectWriter:
    """The controller that handlers use below the gate: the APIs in `local_apis` are handled by this broker when it is
    not the controller, or is no longer the controller. `write_directly` is `DirectMetadataWriter.handle`."""

    def __init__(
        self,
        controller: LocalController,
        write_directly: Callable[[int, Any], Awaitable[Any]],
        local_apis: Container[int],
    ) -> None:
        self._controller = controller
        self._write_directly = write_directly
        self._local_apis = local_apis

    @property
    def is_active(self) -> bool:
        return self._controller.is_active

    async def handle(self, api_key: int, request: Any, context: RequestContext) -> Any:
        """The response of the controller on this node, or of this broker's own direct metadata write."""
        if api_key not in self._local_apis:
            return await self._controller.handle(api_key, request, context)
        if self._controller.is_active:
            response = await self._controller.handle(api_key, request, context)
            if not has_not_controller_error(response):
                return response
        return await self._write_directly(api_key, request)


class DirectTopicWriter(DirectWriter):
    """The same for auto-created topics: this broker never sends these creations to another broker."""

    @property
    def is_active(self) -> bool:
        return True


class RealController:
    """The controller id that responses contain below the gate (`broker/routing/exposed_nodes.py`, F12): clients
    must find the controller."""

    def __init__(self, cache: MetadataCache) -> None:
        self._cache = cache

    def id_for(self, listener_name: str) -> int:
        """The controller of the current image, whether or not it has the listener."""
        return self._cache.image.controller_id
