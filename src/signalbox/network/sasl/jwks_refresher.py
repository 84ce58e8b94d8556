"""The keys of a JWKS endpoint, refreshed by a thread of its own: no plane ever waits for an identity provider.

| when | what |
|---|---|
| at the start | fetched at once; an invalid file prevents the start, an unavailable endpoint does not |
| every `sasl.oauthbearer.jwks.endpoint.refresh.ms` | fetched again; keys that are no longer published are removed |
| a token names an unknown key | fetched early: once a minute by key, at least a second after the last attempt |
| a fetch fails | retried after `...retry.backoff.ms`, doubled up to `...retry.backoff.max.ms`; the known keys stay |

Kafka does not start while the endpoint is unavailable. Here the outage of one provider does not stop a broker whose
other listeners work. Tokens are rejected until the keys are fetched.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from signalbox.common.backoff import Backoff
from signalbox.security.oauth.key_set import KeySet, KeySetError, parse_key_set
from signalbox.transport.url_fetch import FetchFailed, UrlRequest, fetch, start_refresh_thread

log = logging.getLogger(__name__)

_MISSING_KEY_PAUSE_S = 60.0
_MISSING_KEYS_KNOWN = 16  # the size of the same cache in Kafka


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshTimes:
    """Times in seconds."""

    refresh: float = 3_600.0
    backoff: float = 0.1
    backoff_max: float = 10.0


class JwksRefresher:
    """A KeySource. Nothing is fetched before `start`; its thread ends with `close`, or when there is no reference to
    the refresher any more."""

    def __init__(self, request: UrlRequest, times: RefreshTimes, now: Callable[[], float] = time.monotonic) -> None:
        self._request = request
        self._times = times
        self._now = now
        self._keys = KeySet([])
        self._wake = threading.Event()
        self._first_fetch_done = threading.Event()
        self._closed = False
        self._backoff = Backoff(times.backoff, times.backoff_max)
        self._missing: dict[str, float] = {}

    @property
    def keys(self) -> KeySet:
        return self._keys

    def start(self) -> None:
        """Start the thread: fetch the keys, and refresh them."""
        start_refresh_thread(self, self._wake, "jwks")

    def close(self) -> None:
        self._closed = True
        self._wake.set()

    def wait_for_first_fetch(self, timeout_s: float) -> None:
        """Block the calling thread until the first fetch has succeeded or failed."""
        self._first_fetch_done.wait(timeout_s)

    def missing(self, key_id: str) -> None:
        now = self._now()
        if self._missing.get(key_id, now) > now:
            return
        self._missing.pop(key_id, None)
        self._missing[key_id] = now + _MISSING_KEY_PAUSE_S
        while len(self._missing) > _MISSING_KEYS_KNOWN:
            del self._missing[next(iter(self._missing))]
        self._wake.set()

    def fetch_now(self) -> None:
        """Fetch once in the calling thread. FetchFailed, KeySetError: the known keys stay then."""
        try:
            keys = parse_key_set(fetch(self._request))
        finally:
            self._first_fetch_done.set()
        self._keys = keys

    def step(self) -> float | None:
        """For the thread: fetch; returns the seconds until the next step, None to end."""
        if self._closed:
            return None
        try:
            self.fetch_now()
        except (FetchFailed, KeySetError) as error:
            if not self._backoff.last:
                log.warning("JWKS endpoint %s %s; the previous keys stay in use", self._public_url, error)
            return self._backoff.grow()
        if self._backoff.last:
            log.info("JWKS endpoint %s is reachable again", self._public_url)
        self._backoff.reset()
        log.debug("%d keys of %s", len(self._keys), self._public_url)
        return self._times.refresh

    @property
    def _public_url(self) -> str:
        """The URL without its query, which may contain secrets."""
        return self._request.url.partition("?")[0]
