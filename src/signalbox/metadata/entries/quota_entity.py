"""Quota entities: the entity paths below which Kafka stores client quotas (KIP-13, KIP-546, KIP-612)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from urllib.parse import unquote

from signalbox.metadata.entries.entity_config import entity_name
from signalbox.metadata.layout import DEFAULT_ENTITY

USER, CLIENT_ID, IP = "user", "client-id", "ip"
PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE = "producer_byte_rate", "consumer_byte_rate"
REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE = "request_percentage", "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"


class QuotaType(Enum):
    """The Java type of a quota's value; the enum's value is the largest number of an integer type, 0 for DOUBLE."""

    DOUBLE = 0
    INTEGER = 2**31 - 1
    LONG = 2**63 - 1


_CLIENT_QUOTAS: Mapping[str, QuotaType] = {
    PRODUCER_BYTE_RATE: QuotaType.LONG,
    CONSUMER_BYTE_RATE: QuotaType.LONG,
    REQUEST_PERCENTAGE: QuotaType.DOUBLE,
    CONTROLLER_MUTATION_RATE: QuotaType.DOUBLE,
}
_IP_QUOTAS: Mapping[str, QuotaType] = {CONNECTION_CREATION_RATE: QuotaType.INTEGER}
_FOLDERS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("users",): (USER,),
    ("clients",): (CLIENT_ID,),
    ("users", "clients"): (USER, CLIENT_ID),
    ("ips",): (IP,),
}

Entity = Mapping[str, str | None]
"""Names by entity type; None is the default entity of the type, for each name without a quota of its own."""


def quota_entity(entity_path: str) -> Entity | None:
    """The quota entity of a path such as `users/alice/clients/app`; None for topics and brokers."""
    pieces = entity_path.split("/")
    types = _FOLDERS.get(tuple(pieces[::2]))
    if types is None or len(pieces) % 2:
        return None
    names = (None if piece == DEFAULT_ENTITY else unquote(piece) for piece in pieces[1::2])
    return dict(zip(types, names, strict=True))


def quota_path(entity: Entity) -> str:
    """The path of a quota entity; the reverse of `quota_entity`."""
    folders = next(folders for folders, types in _FOLDERS.items() if set(types) == entity.keys())
    pieces = []
    for folder, kind in zip(folders, _FOLDERS[folders], strict=True):
        name = entity[kind]
        pieces += [folder, DEFAULT_ENTITY if name is None else entity_name(name)]
    return "/".join(pieces)


def quota_keys(entity: Entity) -> Mapping[str, QuotaType]:
    """The quotas that an entity may have, with their types."""
    return _IP_QUOTAS if IP in entity else _CLIENT_QUOTAS


def quotas_of(entity: Entity, configs: Mapping[str, str]) -> dict[str, float]:
    """The quotas among an entity's configs; ValueError when a value is not a valid rate. 0, which Kafka's older tools
    store, allows nothing."""
    known = quota_keys(entity)
    quotas = {key: float(value) for key, value in configs.items() if key in known}
    for key, rate in quotas.items():
        if not 0 <= rate <= (float(known[key].value) or math.inf):
            raise ValueError(f"{key} is {rate}, which is no {known[key].name.title()} from 0 on")
    return quotas
