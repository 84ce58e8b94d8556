"""What clients are held back by: byte rates of produce and fetch (KIP-13, KIP-219), the time their requests keep the
broker's thread (KIP-124), the rate of changes (KIP-599).

The answer is sent at once and says how long the client should wait; its connection is not read meanwhile. A produce
costs the size of its request, a fetch the records in its answer; any request costs the time in which it is decoded,
handled and encoded, not what it waits. What brokers do for each other costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signalbox.broker.api_request import ApiRequest
from signalbox.broker.client_quotas import ClientQuotas, QuotaWindows
from signalbox.broker.routes import ROUTES, Disposition
from signalbox.common.token_bucket import TokenBucket
from signalbox.metadata.quota_entity import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.messages.fetch import FetchResponse
from signalbox.replication.fetch import replica_id_of


def _produced(request: ApiRequest, answer: Any) -> int:
    return len(request.frame)


def _fetched(request: ApiRequest, answer: Any) -> int:
    if replica_id_of(request.body) >= 0 or not isinstance(answer, FetchResponse):
        return 0
    return sum(len(partition.records or b"") for topic in answer.responses for partition in topic.partitions)


_COSTS: dict[int, tuple[str, Callable[[ApiRequest, Any], int]]] = {
    ApiKey.PRODUCE: (PRODUCER_BYTE_RATE, _produced),
    ApiKey.FETCH: (CONSUMER_BYTE_RATE, _fetched),
}

_OF_BROKERS = frozenset(row.api_key for row in ROUTES if row.disposition is Disposition.PEER)
_PERCENT = 100


class Throttling:
    """The router asks it about every answer of the generic path; the hot path leaves clients with quotas to that."""

    def __init__(self, quotas: ClientQuotas, monotonic: Callable[[], float]) -> None:
        self._quotas = quotas
        self._monotonic = monotonic

    def settle(self, request: ApiRequest, answer: Any) -> int:
        """How long the connection is held back after this answer, in ms; the answer says so too."""
        told_ms: int = getattr(answer, "throttle_time_ms", 0)
        wait_ms = max(told_ms, self._wait_for_bytes(request, answer), self._wait_for_time(request))
        if wait_ms != told_ms and hasattr(answer, "throttle_time_ms"):
            answer.throttle_time_ms = wait_ms
        return wait_ms  # of a produce without an answer (acks=0) too

    def spent(self, request: ApiRequest, seconds: float) -> None:
        """The time it took to send the answer, which comes too late to be told in it."""
        bucket = self._time_bucket(request)
        if bucket is not None:
            bucket.take(seconds * _PERCENT, self._monotonic())

    def _wait_for_bytes(self, request: ApiRequest, answer: Any) -> int:
        row = _COSTS.get(request.header.api_key)
        if row is None:
            return 0
        quota, cost_of = row
        bucket = self._quotas.bucket(quota, request.context.principal, request.header.client_id)
        if bucket is None:
            return 0
        now = self._monotonic()
        bucket.take(cost_of(request, answer), now)
        return bucket.wait_ms(now)

    def _wait_for_time(self, request: ApiRequest) -> int:
        bucket = self._time_bucket(request)
        if bucket is None:
            return 0
        now = self._monotonic()
        bucket.take(request.busy_s * _PERCENT, now)
        return min(bucket.wait_ms(now), self._quotas.window_ms)

    def _time_bucket(self, request: ApiRequest) -> TokenBucket | None:
        """In per cent of the thread times seconds; None for whom nothing is set, and for brokers."""
        key = request.header.api_key
        if key in _OF_BROKERS or (key == ApiKey.FETCH and replica_id_of(request.body) >= 0):
            return None
        return self._quotas.bucket(REQUEST_PERCENTAGE, request.context.principal, request.header.client_id)

    def changes(self, request: ApiRequest, strict_from: int) -> Changes:
        """For a request that creates or deletes partitions; from version `strict_from` on too much is refused."""
        bucket = self._quotas.bucket(CONTROLLER_MUTATION_RATE, request.context.principal, request.header.client_id)
        return Changes(bucket, request.header.api_version >= strict_from, self._monotonic)


class Changes:
    """The quota of one request for changes, in partitions; the quota of whoever asked first, not of a forwarder."""

    def __init__(self, bucket: TokenBucket | None, strict: bool, monotonic: Callable[[], float]) -> None:
        self._bucket = bucket
        self._strict = strict
        self._monotonic = monotonic

    def allows(self, partitions: int) -> bool:
        """Take so many; False, and nothing taken, when the quota is used up already and the version is told so."""
        if self._bucket is None:
            return True
        now = self._monotonic()
        if self._strict and self._bucket.in_debt(now):
            return False
        self._bucket.take(partitions, now)
        return True

    def give_back(self, partitions: int) -> None:
        """They were not changed after all."""
        if self._bucket is not None:
            self._bucket.give_back(partitions)

    @property
    def throttle_ms(self) -> int:
        """How long the client should wait with its next request."""
        return 0 if self._bucket is None else self._bucket.wait_ms(self._monotonic())


NO_THROTTLING = Throttling(ClientQuotas(QuotaWindows(), lambda: 0.0), lambda: 0.0)
"""Nobody has a quota."""
