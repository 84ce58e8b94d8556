"""Which quota holds for whom, and how much of it is used (KIP-13, KIP-55, KIP-599).

The most specific entity that has the quota counts (`_LEVELS`). A quota of a default entity is everybody's
own: each user or client id it stands for has a bucket of its own. Quotas come from the dynamic configs of
`/config/users` and `/config/clients`; on a broker without any, nothing is looked up.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from signalbox.common.limits import MAX_QUOTA_BUCKETS
from signalbox.common.token_bucket import TokenBucket
from signalbox.metadata.quota_entity import CLIENT_ID, CONTROLLER_MUTATION_RATE, USER, Entity, quota_entity, quotas_of
from signalbox.security.principal import KafkaPrincipal

log = logging.getLogger(__name__)

_OWN, _DEFAULT = True, False
# Users and client ids of an entity, most specific first; None: the entity is not about it.
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
_Key = tuple[bool, str | None, bool, str | None]  # about users? which; about client ids? which (None: the default)


@dataclass(frozen=True, slots=True)
class QuotaWindows:
    """How much of a rate may come at once, in seconds' worth: of bytes and time, and of changes by the controller."""

    client_seconds: float = 10.0
    controller_seconds: float = 11.0
    window_ms: int = 1_000  # the longest wait for time that was taken


class ClientQuotas:
    """One per broker. `changed` is called whenever any quota changes."""

    def __init__(
        self, windows: QuotaWindows, monotonic: Callable[[], float], changed: Callable[[], None] = lambda: None
    ) -> None:
        self._windows = windows
        self._monotonic = monotonic
        self.changed = changed
        self._quotas: dict[_Key, dict[str, float]] = {}
        self._buckets: dict[tuple[str, str | None, str | None], TokenBucket] = {}

    def take_configs(self, entity_path: str, configs: Mapping[str, str]) -> None:
        """The configs of an entity have changed; what is no quota of clients is passed over."""
        entity = quota_entity(entity_path)
        if entity is None or not {USER, CLIENT_ID} & entity.keys():
            return
        try:
            quotas = quotas_of(entity, configs)
        except ValueError as error:
            log.error("the quotas at %s are not obeyed: %s", entity_path, error)
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
        """Whether this quota is set for them."""
        return self._find(quota, principal, client_id) is not None

    def bucket(self, quota: str, principal: KafkaPrincipal, client_id: str | None) -> TokenBucket | None:
        """What is left of a quota, None without one."""
        found = self._find(quota, principal, client_id)
        if found is None:
            return None
        rate, user, client = found
        seconds = (
            self._windows.controller_seconds if quota == CONTROLLER_MUTATION_RATE else self._windows.client_seconds
        )
        now = self._monotonic()
        # The one used last stands last: who has not been heard of for longest is forgotten first.
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
        """(rate, user, client id) of the level that holds; None for a user or client id that it is not about."""
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
