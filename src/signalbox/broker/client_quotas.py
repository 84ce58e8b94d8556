"""The quotas of users and client ids, how much of each is used, and the throttling of clients that use more (KIP-13,
KIP-55, KIP-124, KIP-219, KIP-599). Kafka has the same in its ClientQuotaManager.

`ClientQuotas`: the most specific entity that has the quota applies (`_LEVELS`). The quota of a default entity is not
shared: each user or client id that it applies to has its own bucket. Quotas come from the dynamic configs of
`/config/users` and `/config/clients`; a broker without quotas does no lookups.

`Throttling`: by byte rates of Produce and Fetch, by the time that requests occupy the broker's thread, and by the rate
of changes. The response is sent at once and contains the throttle time; the connection is muted for that time. A
Produce costs the size of its request, a Fetch the size of the records in its response. A Fetch that exceeds the quota
gets an empty response and costs nothing: the client fetches the records after the throttle time. Every request costs
the time in which it is decoded, handled and encoded, without the time in which it waits. Requests between brokers cost
nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from signalbox.broker.api_request import ApiRequest
from signalbox.broker.routes import ROUTES, Disposition
from signalbox.common.limits import MAX_QUOTA_BUCKETS
from signalbox.common.token_bucket import TokenBucket
from signalbox.metadata.entries.quota_entity import (
    CLIENT_ID,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
    Entity,
    quota_entity,
    quotas_of,
)
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.replication.fetch.fetch import replica_id_of
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


Discard = Callable[[FetchRequest, FetchResponse], None]
"""Called with the response to a Fetch that is throttled, before its partitions are removed."""

_OF_BROKERS = frozenset(row.api_key for row in ROUTES if row.disposition is Disposition.PEER)
_PERCENT = 100


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


class Throttling:
    """Called by the router for every response of the generic path; clients with quotas never use the fast path."""

    def __init__(
        self,
        quotas: ClientQuotas,
        monotonic: Callable[[], float],
        discard: Discard = lambda _request, _response: None,
    ) -> None:
        self._quotas = quotas
        self._monotonic = monotonic
        self._withdraw = discard

    def settle(self, request: ApiRequest, response: Any) -> int:
        """The throttle time of the connection after this response, in ms; also set in the response."""
        response_ms: int = getattr(response, "throttle_time_ms", 0)
        if isinstance(response, FetchResponse) and replica_id_of(request.body) < 0:
            wait_ms = max(response_ms, self._wait_of_fetch(request, response))
        else:
            wait_ms = max(response_ms, self._wait_for_bytes(request), self._wait_for_time(request))
        if wait_ms != response_ms and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = wait_ms
        return wait_ms  # also for a Produce without a response (acks=0)

    def spent(self, request: ApiRequest, seconds: float) -> None:
        """Charge the time for encoding and sending the response, which comes too late for its throttle time."""
        bucket = self._time_bucket(request)
        if bucket is not None:
            bucket.take(seconds * _PERCENT, self._monotonic())

    def fetch_limit(self, request: ApiRequest) -> int | None:
        """The maximum number of bytes for one Fetch of a consumer; None without a quota (KAFKA-9677)."""
        bucket = self._quotas.bucket(CONSUMER_BYTE_RATE, request.context.principal, request.header.client_id)
        return None if bucket is None else int(bucket.burst)

    def _wait_of_fetch(self, request: ApiRequest, response: FetchResponse) -> int:
        """The throttle time of a consumer's Fetch, in ms. If it is not 0, the response is emptied and its records cost
        nothing."""
        bucket = self._quotas.bucket(CONSUMER_BYTE_RATE, request.context.principal, request.header.client_id)
        now, size = self._monotonic(), 0 if bucket is None else _fetched(response)
        wait_ms = max(0 if bucket is None else bucket.wait_before_ms(size, now), self._wait_for_time(request))
        if wait_ms:
            self._withdraw(request.body, response)
            response.responses, response.node_endpoints = [], []
        elif bucket is not None:
            bucket.take(size, now)
        return wait_ms

    def _wait_for_bytes(self, request: ApiRequest) -> int:
        if request.header.api_key != ApiKey.PRODUCE:
            return 0
        bucket = self._quotas.bucket(PRODUCER_BYTE_RATE, request.context.principal, request.header.client_id)
        if bucket is None:
            return 0
        now = self._monotonic()
        bucket.take(len(request.frame), now)
        return bucket.wait_ms(now)

    def _wait_for_time(self, request: ApiRequest) -> int:
        bucket = self._time_bucket(request)
        if bucket is None:
            return 0
        now = self._monotonic()
        bucket.take(request.busy_s * _PERCENT, now)
        return min(bucket.wait_ms(now), self._quotas.window_ms)

    def _time_bucket(self, request: ApiRequest) -> TokenBucket | None:
        """The bucket of request time, in percent of the thread times seconds; None without a quota and for brokers."""
        key = request.header.api_key
        if key in _OF_BROKERS or (key == ApiKey.FETCH and replica_id_of(request.body) >= 0):
            return None
        return self._quotas.bucket(REQUEST_PERCENTAGE, request.context.principal, request.header.client_id)

    def changes(self, request: ApiRequest, strict_from: int) -> Changes:
        """The quota for a request that creates or deletes partitions; from version `strict_from` on, changes are
        rejected while the quota is exceeded."""
        bucket = self._quotas.bucket(CONTROLLER_MUTATION_RATE, request.context.principal, request.header.client_id)
        return Changes(bucket, request.header.api_version >= strict_from, self._monotonic)


class Changes:
    """The controller mutation quota of one request, in partitions: that of the original client, not of the forwarding
    broker."""

    def __init__(self, bucket: TokenBucket | None, strict: bool, monotonic: Callable[[], float]) -> None:
        self._bucket = bucket
        self._strict = strict
        self._monotonic = monotonic

    def allows(self, partitions: int) -> bool:
        """Charge `partitions`; False, and nothing charged, when the quota is used up and the version rejects that."""
        if self._bucket is None:
            return True
        now = self._monotonic()
        if self._strict and self._bucket.in_debt(now):
            return False
        self._bucket.take(partitions, now)
        return True

    def give_back(self, partitions: int) -> None:
        """Credit partitions that were charged and then not changed."""
        if self._bucket is not None:
            self._bucket.give_back(partitions)

    @property
    def throttle_ms(self) -> int:
        """The throttle time until the client's next request, in ms."""
        return 0 if self._bucket is None else self._bucket.wait_ms(self._monotonic())


def _fetched(response: FetchResponse) -> int:
    return sum(len(partition.records or b"") for topic in response.responses for partition in topic.partitions)


NO_THROTTLING = Throttling(ClientQuotas(QuotaWindows(), lambda: 0.0), lambda: 0.0)
"""No client has a quota."""
