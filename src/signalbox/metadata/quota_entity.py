"""Whom a quota is for: the entity paths below which Kafka keeps client quotas (KIP-13, KIP-546, KIP-612)."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

from signalbox.metadata.layout import DEFAULT_ENTITY

USER, CLIENT_ID, IP = "user", "client-id", "ip"
_CLIENT_QUOTAS = frozenset(
    {"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"}
)
_IP_QUOTAS = frozenset({"connection_creation_rate"})
_FOLDERS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("users",): (USER,),
    ("clients",): (CLIENT_ID,),
    ("users", "clients"): (USER, CLIENT_ID),
    ("ips",): (IP,),
}

Entity = Mapping[str, str | None]
"""Names by entity type; None is the default of its type, for all without a quota of their own."""


def quota_entity(entity_path: str) -> Entity | None:
    """The entity at a path such as `users/alice/clients/app`; None for topics and brokers."""
    pieces = entity_path.split("/")
    types = _FOLDERS.get(tuple(pieces[::2]))
    if types is None or len(pieces) % 2:
        return None
    names = (None if piece == DEFAULT_ENTITY else unquote(piece) for piece in pieces[1::2])
    return dict(zip(types, names, strict=True))


def quotas_of(entity: Entity, configs: Mapping[str, str]) -> dict[str, float]:
    """The quotas among an entity's configs; ValueError when one is no number."""
    known = _IP_QUOTAS if IP in entity else _CLIENT_QUOTAS
    return {key: float(value) for key, value in configs.items() if key in known}
