"""DescribeConfigs (key 32): configs of topics, brokers, their loggers, groups and subscriptions to client metrics, with
the source of each value. Versions 1-4.

A broker resource is described only by the broker that it names (an empty name means the cluster-wide defaults); another
broker returns INVALID_REQUEST with its own id in the message. The same applies to loggers. Rows come from the config
tables that start-up reads as well. Passwords are never returned.
"""

from __future__ import annotations

from collections.abc import Callable

from signalbox.broker.api_request import ApiRequest, HandlerResult
from signalbox.broker.configs.broker_loggers import BrokerLoggers
from signalbox.broker.configs.config_description import ConfigDescription, DescribedConfig, described_loggers
from signalbox.broker.configs.config_resources import rejection
from signalbox.common.cooperative_task import yield_if_due
from signalbox.controller.topics.topic_name import reject_topic_name
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.config_resource import ConfigResourceType
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_Result = DescribeConfigsResponse.DescribeConfigsResult
_Config = DescribeConfigsResponse.DescribeConfigsResourceResult
_Synonym = DescribeConfigsResponse.DescribeConfigsSynonym


class DescribeConfigsHandler:
    def __init__(
        self, description: ConfigDescription, cache: MetadataCache, node_id: int, authorizer: Authorizer
    ) -> None:
        self._description = description
        self._cache = cache
        self._authorizer = authorizer
        self._loggers = BrokerLoggers(node_id)
        self._node_id = node_id
        self._kinds: dict[int, Callable[[str], list[DescribedConfig]]] = {
            ConfigResourceType.TOPIC: self._topic,
            ConfigResourceType.BROKER: self._broker,
            ConfigResourceType.BROKER_LOGGER: self._broker_loggers,
            ConfigResourceType.CLIENT_METRICS: self._client_metrics,
            ConfigResourceType.GROUP: self._group,
        }

    def __call__(self, request: ApiRequest) -> HandlerResult:
        """Yields."""
        body: DescribeConfigsRequest = request.body
        return DescribeConfigsResponse(results=[self._resource(request, body, r) for r in body.resources])

    def _resource(
        self,
        request: ApiRequest,
        body: DescribeConfigsRequest,
        resource: DescribeConfigsRequest.DescribeConfigsResource,
    ) -> _Result:
        """Yields."""
        name, resource_type = resource.resource_name, resource.resource_type
        result = _Result(resource_type=resource_type, resource_name=name)
        try:
            configs = self._found(request, resource_type, name)
        except KafkaError as rejected:
            result.error_code, result.error_message = rejected.error, rejected.message
            return result
        keys = set(resource.configuration_keys or ())  # null or empty: all keys, as in Kafka
        for config in configs:
            yield_if_due()
            if not keys or config.name in keys:
                result.configs.append(_entry(config, body))
        return result

    def _found(self, request: ApiRequest, resource_type: int, name: str) -> list[DescribedConfig]:
        """The configs of a resource; KafkaError with the error of its result."""
        denied = rejection(self._authorizer, request.context, AclOperation.DESCRIBE_CONFIGS, resource_type, name)
        if denied is not None:
            raise KafkaError(*denied)
        kind = self._kinds.get(resource_type)
        if kind is None:
            raise KafkaError(Error.INVALID_REQUEST, f"Resources of type {resource_type} have no configs here.")
        return kind(name)

    def _topic(self, name: str) -> list[DescribedConfig]:
        if problem := reject_topic_name(name):
            raise KafkaError(Error.INVALID_TOPIC_EXCEPTION, problem)
        if name not in self._cache.image.topics:
            raise KafkaError(Error.UNKNOWN_TOPIC_OR_PARTITION, f"Topic {name} does not exist.")
        return self._description.topic(name)

    def _broker(self, name: str) -> list[DescribedConfig]:
        if name not in ("", str(self._node_id)):
            raise KafkaError(
                Error.INVALID_REQUEST,
                f"Unexpected broker id, expected {self._node_id} or empty string, but received {name}",
            )
        return self._description.broker() if name else self._description.broker_defaults()

    def _broker_loggers(self, name: str) -> list[DescribedConfig]:
        self._loggers.reject_name(name)
        return described_loggers(self._loggers.levels())

    def _client_metrics(self, name: str) -> list[DescribedConfig]:
        if not name:
            raise KafkaError(Error.INVALID_REQUEST, "Client metrics subscription name must not be empty")
        return self._description.client_metrics(name)

    def _group(self, name: str) -> list[DescribedConfig]:
        if not name:
            raise KafkaError(Error.INVALID_REQUEST, "Group name must not be empty")
        return self._description.group(name)


def _entry(config: DescribedConfig, body: DescribeConfigsRequest) -> _Config:
    entry = _Config(
        name=config.name,
        value=config.value,
        read_only=config.read_only,
        config_source=config.source,
        is_sensitive=config.sensitive,
        config_type=config.type.value if config.type is not None else 0,
        documentation=config.doc if body.include_documentation else None,
    )
    if body.include_synonyms:
        entry.synonyms = [_Synonym(name=name, value=value, source=source) for name, value, source in config.synonyms]
    return entry
