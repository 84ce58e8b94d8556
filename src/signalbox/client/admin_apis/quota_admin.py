"""Quotas of users, client ids and IP addresses: DescribeClientQuotas and AlterClientQuotas (KIP-546)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from signalbox.client.admin_apis.admin_call import AdminCall, AdminResult, result_of
from signalbox.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from signalbox.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest

QuotaEntity = frozenset[tuple[str, str | None]]
"""(type, name) of each component: `user`, `client-id` or `ip`; None is the default of those without their own."""

_EXACT, _DEFAULT, _ANY = 0, 1, 2


class AnyName(Enum):
    """In a filter: every entity that has a component of the type."""

    ANY = "any name"


ANY_NAME = AnyName.ANY


def quota_entity(components: Mapping[str, str | None]) -> QuotaEntity:
    """`{"user": "alice", "client-id": None}` as the key of a quota: alice, with any client id that has no quota."""
    return frozenset(components.items())


class QuotaAdmin(AdminCall):
    async def describe_quotas(
        self,
        components: Mapping[str, str | AnyName | None] | None = None,
        *,
        strict: bool = False,
        timeout_ms: float | None = None,
    ) -> dict[QuotaEntity, dict[str, float]]:
        """Quotas by entity, all without a filter. The filter has a name per type of component, None for the default,
        ANY_NAME for all; `strict` leaves out entities with further components. KafkaError."""
        rows = [_component(type_, name) for type_, name in (components or {}).items()]
        response = await self._ask(DescribeClientQuotasRequest(components=rows, strict=strict), timeout_ms)
        return {
            frozenset((part.entity_type, part.entity_name) for part in entry.entity): {
                quota.key: quota.value for quota in entry.values
            }
            for entry in response.entries or ()
        }

    async def alter_quotas(
        self,
        changes: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout_ms: float | None = None,
    ) -> dict[QuotaEntity, AdminResult]:
        """Set quotas such as `producer_byte_rate`, None removes one; the result of each entity."""
        message_type = AlterClientQuotasRequest
        entries = [
            message_type.EntryData(
                entity=[
                    message_type.EntityData(entity_type=type_, entity_name=name)
                    for type_, name in sorted(entity, key=lambda part: part[0])
                ],
                ops=[
                    message_type.OpData(key=key, value=0.0 if value is None else value, remove=value is None)
                    for key, value in quotas.items()
                ],
            )
            for entity, quotas in changes.items()
        ]
        response = await self._ask(message_type(entries=entries, validate_only=validate_only), timeout_ms)
        results = {}
        for row in response.entries:
            entity = frozenset((part.entity_type, part.entity_name) for part in row.entity)
            results[entity] = result_of(_text(entity), row.error_code, row.error_message)
        return results


def _component(type_: str, name: str | AnyName | None) -> Any:
    if isinstance(name, AnyName):
        return DescribeClientQuotasRequest.ComponentData(entity_type=type_, match_type=_ANY, match=None)
    match_type = _DEFAULT if name is None else _EXACT
    return DescribeClientQuotasRequest.ComponentData(entity_type=type_, match_type=match_type, match=name)


def _text(entity: QuotaEntity) -> str:
    """An entity as one word: `client-id=<default>,user=alice`."""
    return ",".join(f"{type_}={'<default>' if name is None else name}" for type_, name in sorted(entity, key=str))
