"""ListConfigResources (key 74): names of config resources (KIP-1142). Versions 0-1; 0 lists client metrics only.

Needs DESCRIBE_CONFIGS on the cluster. An empty list of types means all. Groups and subscriptions to client metrics are
those that have configs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult
from signalbox.broker.authorization.authorization import require_on_cluster
from signalbox.common.cooperative_task import yielding
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.entity_config import client_metrics_of, group_of
from signalbox.protocol.config_resource import ConfigResourceType
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.list_config_resources import ListConfigResourcesResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_TYPES_FROM = 1
_LISTED = (
    ConfigResourceType.GROUP,
    ConfigResourceType.CLIENT_METRICS,
    ConfigResourceType.BROKER_LOGGER,
    ConfigResourceType.BROKER,
    ConfigResourceType.TOPIC,
)

_STORED: Mapping[ConfigResourceType, Callable[[str], str | None]] = {  # its name by the path of its configs
    ConfigResourceType.GROUP: group_of,
    ConfigResourceType.CLIENT_METRICS: client_metrics_of,
}

_Resource = ListConfigResourcesResponse.ConfigResource


class ListConfigResourcesHandler:
    def __init__(self, stored: ConfigRepository, cache: MetadataCache, authorizer: Authorizer) -> None:
        self._stored = stored
        self._cache = cache
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        require_on_cluster(self._authorizer, request.context, AclOperation.DESCRIBE_CONFIGS)
        supported_types = _LISTED if request.header.api_version >= _TYPES_FROM else (ConfigResourceType.CLIENT_METRICS,)
        requested_types = request.body.resource_types or supported_types
        for number in requested_types:
            if number not in supported_types:
                raise KafkaError(Error.UNSUPPORTED_VERSION, f"Resources of type {number} are not listed.")
        resources = [
            _Resource(resource_name=name, resource_type=resource_type)
            for resource_type in supported_types
            if resource_type in requested_types
            for name in self._names(resource_type, request.context.listener_name)
        ]
        stored_types = [each for each in _STORED if each in requested_types and each in supported_types]
        return self._with_stored(stored_types, resources) if stored_types else _answer(resources)

    def _names(self, resource_type: ConfigResourceType, listener_name: str) -> Iterable[str]:
        """Names of resources from the metadata cache; those of `_STORED` are read from the store instead. Yields."""
        image = self._cache.image
        if resource_type in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER):
            return map(str, image.nodes(listener_name))
        return yielding(image.topics) if resource_type is ConfigResourceType.TOPIC else ()

    async def _with_stored(self, types: list[ConfigResourceType], resources: list[_Resource]) -> FinalResponse:
        stored: Mapping[str, object] = await self._stored.current()
        named = []
        for resource_type in types:
            names = map(_STORED[resource_type], stored)
            named += [
                _Resource(resource_name=name, resource_type=resource_type)
                for name in sorted(name for name in names if name is not None)
            ]
        return _answer(named + resources)


def _answer(resources: list[_Resource]) -> FinalResponse:
    response: FinalResponse = ListConfigResourcesResponse(config_resources=resources)
    return response
