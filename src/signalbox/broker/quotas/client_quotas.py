"""The quotas of users and client ids, and how much of each is used (KIP-13, KIP-55, KIP-599).

The most specific entity that has the quota applies (`_LEVELS`). The quota of a default entity is not shared: each user
or client id that it applies to has its own bucket. Quotas come from the dynamic configs of `/config/users` and
`/config/clients`; a broker without quotas does no lookups.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from signalbox.common.limits import MAX_QUOTA_BUCKETS
from signalbox.common.token_bucket import TokenBucket
from signalbox.metadata.entries.quota_entity import (
    CLIENT_ID,
    CONTROLLER_MUTATION_RATE,
    USER,
    Entity,
    quota_entity,
    quotas_of,
)
from signalbox.security.principal import KafkaPrincipal

log = logging.getLogger(__name__)

_OWN, _DEFAULT = True, False
# (user, client id) of an entity, most specific first; None: the entity does not have that part.
_LEVELS: tuple[tuple[bool | None, bool | None], ...] = (
    (_OWN, _OWN),
    (_OWN, _DEFAULT),
    (_OWN, None),
    (_DEFAULT, _OWN),
    (_DEFAULT, _DEFAULT),
    (_DEFAULT, None),
    (None, _OWN),
    (None, _DEFAULT),
)
_Key = tuple[bool, str | None, bool, str | None]  # has a user? user; has a client id? client id (None: the default)


@dataclass(frozen=True, slots=True)
class QuotaWindows:
    """The burst that a rate allows, in seconds of that rate: `client_seconds` for bytes and request time,
    `controller_seconds` for changes by the controller."""

    client_seconds: float = 10.0
    controller_seconds: float = 11.0
    window_ms: int = 1_000  # the longest throttle time of a request_percentage quota


class ClientQuotas:
    """One per broker. `changed` is called when any quota changes."""

    def __init__(
        self, windows: QuotaWindows, monotonic: Callable[[], float], changed: Callable[[], None] = lambda: None
    ) -> None:
        self._windows = windows
        self._monotonic = monotonic
        self.changed = changed
        self._quotas: dict[_Key, dict[str, float]] = {}
        self._buckets: dict[tuple[str, str | None, str | None], TokenBucket] = {}

    def take_configs(self, entity_path: str, configs: Mapping[str, str]) -> None:
        """Apply changed configs of an entity; entities without a user or client id are ignored."""
        entity = quota_entity(entity_path)
        if entity is None or not {USER, CLIENT_ID} & entity.keys():
            return
        try:
            quotas = quotas_of(entity, configs)
        except ValueError as error:
            log.error("Invalid quotas ignored (path=%s): %s", entity_path, error)
            return
        key = _key(entity)
        if quotas == self._quotas.get(key, {}):
            return
        if quotas:
            self._quotas[key] = quotas
        else:
            del self._quotas[key]
        self.changed()

    @property
    def window_ms(self) -> int:
        """The length of one window."""
        return self._windows.window_ms

    def holds_for(self, quota: str, principal: KafkaPrincipal, client_id: str | None) -> bool:
        """Whether the quota is set for this principal and client id."""
        return self._find(quota, principal, client_id) is not None

    def bucket(self, quota: str, principal: KafkaPrincipal, client_id: str | None) -> TokenBucket | None:
        """The bucket of a quota for this principal and client id; None when there is no such quota."""
        match = self._find(quota, principal, client_id)
        if match is None:
            return None
        rate, user, client = match
        seconds = (
            self._windows.controller_seconds if quota == CONTROLLER_MUTATION_RATE else self._windows.client_seconds
        )
        now = self._monotonic()
        # The dictionary is in order of last use: the least recently used bucket is evicted first.
        bucket = self._buckets.pop((quota, user, client), None)
        if bucket is None:
            bucket = TokenBucket(rate, rate * seconds, now)
            if len(self._buckets) >= MAX_QUOTA_BUCKETS:
                del self._buckets[next(iter(self._buckets))]
        elif bucket.rate != rate:
            bucket.change(rate, rate * seconds, now)
        self._buckets[quota, user, client] = bucket
        return bucket

    def _find(
        self, quota: str, principal: KafkaPrincipal, client_id: str | None
    ) -> tuple[float, str | None, str | None] | None:
        """(rate, user, client id) of the level that applies, with None for a part that the level does not have; None
        without a quota."""
        if not self._quotas:
            return None
        user, client = principal.name, client_id or ""
        for users, clients in _LEVELS:
            key = (users is not None, user if users else None, clients is not None, client if clients else None)
            rate = self._quotas.get(key, {}).get(quota)
            if rate is not None:
                return rate, user if users is not None else None, client if clients is not None else None
        return None


def _key(entity: Entity) -> _Key:
    return USER in entity, entity.get(USER), CLIENT_ID in entity, entity.get(CLIENT_ID)
