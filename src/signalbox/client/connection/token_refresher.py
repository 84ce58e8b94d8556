"""Our own access token, refreshed by a thread before it expires: only the first connection waits for the endpoint.

| event | action |
|---|---|
| first use | fetched; the connection attempt waits within its connect timeout |
| `sasl.login.refresh.*` before its expiry | fetched again; the old one is used until the new one is there |
| a fetch fails | retried after `sasl.login.retry.backoff.ms`, doubled up to `...max.ms` |
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections.abc import Callable

from signalbox.common.backoff import Backoff
from signalbox.common.clock import Clock, SystemClock
from signalbox.security.oauth.login_token import LoginToken, RefreshWindow, TokenSource, TokenUnavailable
from signalbox.transport.url_fetch import start_refresh_thread

log = logging.getLogger(__name__)


class TokenRefresher:
    """`show` returns the current token's text. `backoff` and `backoff_max` are seconds."""

    def __init__(
        self,
        source: TokenSource,
        window: RefreshWindow,
        backoff: float = 0.1,
        backoff_max: float = 10.0,
        clock: Clock | None = None,
    ) -> None:
        self._source = source
        self._window = window
        self._backoff = Backoff(backoff, backoff_max)
        self._clock = clock or SystemClock()
        self._token: LoginToken | None = None
        self._problem = "no token was requested yet"
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._started = self._closed = False
        self._waiting: list[Callable[[], object]] = []

    def show(self) -> str:
        """The current token's text. Without a valid token: TokenUnavailable, and a fetch starts."""
        if not self._has_token:
            self._ask()
            raise TokenUnavailable(self._problem)
        assert self._token is not None
        return self._token.text

    async def ready(self) -> None:
        """Wait until there is a token, or a fetch has failed: TokenUnavailable. Cancel it to stop waiting."""
        if not self._has_token:
            await self._next_step()
            self.show()

    @property
    def _has_token(self) -> bool:
        return self._token is not None and self._token.expires_at_ms > self._clock.now_ms()

    def close(self) -> None:
        """Stop the fetches."""
        self._closed = True
        self._wake.set()

    def step(self) -> float | None:
        """One run of the refresh thread; the seconds until the next one, None after `close`."""
        if self._closed:
            return None
        wait_s = self._fetch()
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for notify in waiting:
            notify()
        return wait_s

    def _fetch(self) -> float:
        try:
            token = self._source.token()
        except TokenUnavailable as error:
            return self._failed(str(error))
        except Exception as error:  # a user-defined source: its error text may hold a secret
            return self._failed(f"{type(self._source).__name__} failed with {type(error).__name__}")
        life_s = (token.expires_at_ms - self._clock.now_ms()) / 1000
        if life_s <= 0:
            return self._failed("the token has already expired")
        self._token, self._problem = token, "the token has ended"
        self._backoff.reset()
        return self._window.seconds_until_refresh(life_s, random.random())

    def _failed(self, problem: str) -> float:
        if not self._backoff.last:
            log.warning("Access token not obtained: %s", problem)
        self._problem = problem
        return self._backoff.grow()

    def _ask(self) -> None:
        if not self._started:
            self._started = True
            start_refresh_thread(self, self._wake, "access-token")
        else:
            self._wake.set()

    async def _next_step(self) -> None:
        loop = asyncio.get_running_loop()
        stepped: asyncio.Future[None] = loop.create_future()

        def notify() -> None:
            if not stepped.done():
                stepped.set_result(None)

        def notify_loop() -> None:
            try:
                loop.call_soon_threadsafe(notify)
            except RuntimeError:
                pass  # the loop is closed: nothing waits

        with self._lock:
            self._waiting.append(notify_loop)
        self._ask()
        await stepped
