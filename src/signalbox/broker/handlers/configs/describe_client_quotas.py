"""DescribeClientQuotas (key 48): the stored quotas of users, client ids and addresses. KIP-546, KIP-612; versions 0-1.

Handled by any broker; needs DESCRIBE_CONFIGS on the cluster. A filter component matches one name, the default of its
type, or all names of its type. With `strict`, entities of types without a component are left out.
"""

from __future__ import annotations

from typing import Any

from signalbox.broker.api_request import ApiRequest, FinalResponse, HandlerResult
from signalbox.broker.authorization.authorization import may_on_cluster
from signalbox.metadata.config_repository import ConfigRepository
from signalbox.metadata.entries.quota_entity import CLIENT_ID, IP, USER, Entity, quota_entity, quotas_of
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.describe_client_quotas import DescribeClientQuotasResponse
from signalbox.security.acl import AclOperation
from signalbox.security.authorizer import Authorizer

_EXACT, _DEFAULT, _ANY = 0, 1, 2
_Entry = DescribeClientQuotasResponse.EntryData


class DescribeClientQuotasHandler:
    def __init__(self, stored: ConfigRepository, authorizer: Authorizer) -> None:
        self._stored = stored
        self._authorizer = authorizer

    def __call__(self, request: ApiRequest) -> HandlerResult:
        if not may_on_cluster(self._authorizer, request.context, AclOperation.DESCRIBE_CONFIGS):
            raise KafkaError(Error.CLUSTER_AUTHORIZATION_FAILED, "no DESCRIBE_CONFIGS on the cluster")
        components = _components(request.body.components)
        return self._describe(components, request.body.strict)

    async def _describe(self, components: dict[str, Any], strict: bool) -> FinalResponse:
        entries = []
        for path, configs in (await self._stored.current()).items():
            entity = quota_entity(path)
            if entity is None or not _is_selected(entity, components, strict):
                continue
            try:
                quotas = quotas_of(entity, configs)
            except ValueError as error:
                raise KafkaError(
                    Error.UNKNOWN_SERVER_ERROR, f"the entry {path} of the metadata store is not a quota: {error}"
                ) from error
            if quotas:
                entries.append(_entry(entity, quotas))
        return DescribeClientQuotasResponse(entries=entries)


def _components(components: list[Any]) -> dict[str, Any]:
    """Filter components by entity type; KafkaError with Kafka's code for an invalid component."""
    by_type: dict[str, Any] = {}
    for component in components:
        kind = component.entity_type
        if not kind:
            raise KafkaError(Error.INVALID_REQUEST, "Unexpected empty filter component entity type")
        if kind not in (USER, CLIENT_ID, IP):
            raise KafkaError(Error.UNSUPPORTED_VERSION, f"Custom entity type '{kind}' not supported")
        if kind in by_type:
            raise KafkaError(Error.INVALID_REQUEST, f"Duplicate {kind} filter component entity type")
        if component.match_type not in (_EXACT, _DEFAULT, _ANY):
            raise KafkaError(Error.INVALID_REQUEST, f"Unexpected match type: {component.match_type}")
        if component.match_type == _EXACT and component.match is None:
            raise KafkaError(Error.INVALID_REQUEST, "Request specified null for exact match")
        by_type[kind] = component
    if IP in by_type and len(by_type) > 1:
        raise KafkaError(
            Error.INVALID_REQUEST,
            "Invalid entity filter component combination, IP filter component should not be used with user or clientId"
            " filter component.",
        )
    return by_type


def _is_selected(entity: Entity, components: dict[str, Any], strict: bool) -> bool:
    """Whether the filter matches the entity. An entity never has both an address and a user or client id, so a filter
    for one leaves out the other."""
    if components and (IP in entity) != (IP in components):
        return False
    if strict and entity.keys() - components.keys():
        return False
    return all(kind in entity and _matches(component, entity[kind]) for kind, component in components.items())


def _matches(component: Any, name: str | None) -> bool:
    if component.match_type == _EXACT:
        return name is not None and name == component.match
    return component.match_type == _ANY or name is None


def _entry(entity: Entity, quotas: dict[str, float]) -> _Entry:
    message_type = DescribeClientQuotasResponse
    return _Entry(
        entity=[message_type.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        values=[message_type.ValueData(key=key, value=value) for key, value in quotas.items()],
    )
