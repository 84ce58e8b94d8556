"""AlterClientQuotas as a decision (KIP-546, KIP-612): quotas of users, client ids, both together, and addresses.

Each entity has its own error, and keeps its quotas if the change fails. A host name is not resolved, as Kafka would do:
a name server must not block the controller. So anything but an IP address is rejected.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Sequence
from typing import Any

from signalbox.controller.context import ControllerContext
from signalbox.controller.decision import Decision, Inputs
from signalbox.controller.records import ConfigsSet
from signalbox.metadata.entries.entity_config import Configs
from signalbox.metadata.entries.quota_entity import CLIENT_ID, IP, USER, Entity, QuotaType, quota_keys, quota_path
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlterClientQuotasResponse

_Result = AlterClientQuotasResponse.EntryData
_EPSILON = 1e-6  # allowed distance from a whole number, as in Kafka


def alter_client_quotas(context: ControllerContext, inputs: Inputs, request: AlterClientQuotasRequest) -> Decision:
    """Set and remove quotas; a result for each entity in the order of the request."""
    changed: dict[str, Configs] = {}
    results = []
    for entry in request.entries:
        try:
            entity = _entity(entry.entity)
            path = quota_path(entity)
            if path in changed:
                raise KafkaError(Error.INVALID_REQUEST, f"Ignoring duplicate entity {_words(entity)}")
            changed[path] = _altered(context.configs.get(path, {}), entity, entry.ops)
        except KafkaError as rejection:
            results.append(_result(entry.entity, rejection.error, rejection.message))
        else:
            results.append(_result(entry.entity, Error.NONE, None))
    records = tuple(
        ConfigsSet(path, configs) for path, configs in changed.items() if configs != context.configs.get(path, {})
    )
    return Decision(
        records=() if request.validate_only else records, response=AlterClientQuotasResponse(entries=results)
    )


def _entity(entity_parts: Sequence[Any]) -> Entity:
    entity: dict[str, str | None] = {}
    for part in entity_parts:
        kind, name = part.entity_type, part.entity_name
        if kind in entity:
            raise KafkaError(Error.INVALID_REQUEST, f"Invalid empty client quota entity, duplicate entity entry {kind}")
        if kind not in (USER, CLIENT_ID, IP):
            raise KafkaError(Error.INVALID_REQUEST, f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise KafkaError(Error.INVALID_REQUEST, f"Empty {kind} not supported")
        entity[kind] = name
    if not entity or (IP in entity and len(entity) > 1):
        raise KafkaError(Error.INVALID_REQUEST, "Invalid empty client quota entity")
    address = entity.get(IP)
    if address is not None and not _is_address(address):
        raise KafkaError(Error.INVALID_REQUEST, f"{address} is not a valid IP or resolvable host.")
    return entity


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _altered(configs: Configs, entity: Entity, operations: Sequence[Any]) -> Configs:
    known, after = quota_keys(entity), dict(configs)
    seen: set[str] = set()
    for operation in operations:
        key = operation.key
        if key in seen:
            raise KafkaError(
                Error.INVALID_REQUEST,
                f"Duplicate quota key {key} not updating quota for this entity {_words(entity)}",
            )
        seen.add(key)
        if operation.remove:
            after.pop(key, None)
        elif key not in known:
            raise KafkaError(Error.INVALID_REQUEST, f"Invalid configuration key {key}")
        else:
            after[key] = _text(key, operation.value, known[key])
    return after


def _text(key: str, value: float, kind: QuotaType) -> str:
    """The quota as it is stored: whole numbers without a fraction, others as Java prints a double."""
    if math.isnan(value) or value <= 0:
        raise KafkaError(Error.INVALID_REQUEST, f"Quota {key} must be greater than 0")
    if kind is QuotaType.DOUBLE:
        return "Infinity" if math.isinf(value) else str(value)  # Java does not parse Python's "inf"
    integer = int(value + _EPSILON) if math.isfinite(value) else 0
    if abs(integer - value) > _EPSILON or integer > kind.value:
        raise KafkaError(Error.INVALID_REQUEST, f"Configuration {key} must be a {kind.name.title()} value")
    return str(integer)


def _words(entity: Entity) -> str:
    return ", ".join(f"{kind}={'<default>' if name is None else name}" for kind, name in entity.items())


def _result(entity_parts: Sequence[Any], error: Error, message: str | None) -> _Result:
    entity = [
        AlterClientQuotasResponse.EntityData(entity_type=part.entity_type, entity_name=part.entity_name)
        for part in entity_parts
    ]
    return _Result(error_code=error, error_message=message, entity=entity)
