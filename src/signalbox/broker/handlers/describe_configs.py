"""DescribeConfigs (key 32): configs of topics and brokers with where each value comes from. Versions 1-4.

Broker resources are answered only by the broker they name (an empty name means the cluster-wide defaults); another
broker says INVALID_REQUEST and which broker it is. Rows come from the same config tables that start-up reads.
Passwords are never shown.
"""

from __future__ import annotations

from signalbox.broker.api_request import Answer, ApiRequest
from signalbox.broker.config_description import ConfigDescription, DescribedConfig
from signalbox.broker.config_resources import ConfigResourceType, refusal
from signalbox.common.long_work import breathe
from signalbox.controller.topic_name import refuse_topic_name
from signalbox.metadata.cache import MetadataCache
from signalbox.protocol.error_table import Error
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
        self._node_id = node_id
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> Answer:
        body: DescribeConfigsRequest = request.body
        return DescribeConfigsResponse(results=[self._resource(request, body, r) for r in body.resources])

    def _resource(
        self,
        request: ApiRequest,
        body: DescribeConfigsRequest,
        resource: DescribeConfigsRequest.DescribeConfigsResource,
    ) -> _Result:
        name, resource_type = resource.resource_name, resource.resource_type
        result = _Result(resource_type=resource_type, resource_name=name)
        error = refusal(
            self._authorizer, request.context, AclOperation.DESCRIBE_CONFIGS, resource_type, name
        ) or self._unknown(resource_type, name)
        if error is not None:
            result.error_code, result.error_message = error
            return result
        wanted = set(resource.configuration_keys or ())  # none named: all, as in Kafka, whether null or empty
        for config in self._configs(resource_type, name):
            breathe()
            if not wanted or config.name in wanted:
                result.configs.append(_entry(config, body))
        return result

    def _unknown(self, resource_type: int, name: str) -> tuple[Error, str] | None:
        if resource_type == ConfigResourceType.TOPIC:
            if problem := refuse_topic_name(name):
                return Error.INVALID_TOPIC_EXCEPTION, problem
            known = name in self._cache.image.topics
            return None if known else (Error.UNKNOWN_TOPIC_OR_PARTITION, f"Topic {name} does not exist.")
        if resource_type == ConfigResourceType.BROKER and name not in ("", str(self._node_id)):
            return (
                Error.INVALID_REQUEST,
                f"Unexpected broker id, expected {self._node_id} or empty string, but received {name}",
            )
        if resource_type not in (ConfigResourceType.TOPIC, ConfigResourceType.BROKER):
            return Error.INVALID_REQUEST, f"Resources of type {resource_type} have no configs here."
        return None

    def _configs(self, resource_type: int, name: str) -> list[DescribedConfig]:
        if resource_type == ConfigResourceType.TOPIC:
            return self._description.topic(name)
        return self._description.broker_defaults() if name == "" else self._description.broker()


def _entry(config: DescribedConfig, body: DescribeConfigsRequest) -> _Config:
    entry = _Config(
        name=config.name,
        value=config.value,
        read_only=config.read_only,
        config_source=config.source,
        is_sensitive=config.sensitive,
        config_type=config.type.value,
        documentation=config.doc if body.include_documentation else None,
    )
    if body.include_synonyms:
        entry.synonyms = [_Synonym(name=name, value=value, source=source) for name, value, source in config.synonyms]
    return entry
