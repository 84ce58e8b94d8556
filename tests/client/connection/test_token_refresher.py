from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from signalbox.client.connection.token_refresher import TokenRefresher
from signalbox.common.clock import ManualClock, SystemClock
from signalbox.security.oauth.login_token import LoginToken, RefreshWindow, TokenUnavailable


class Source:
    """Returns the next token, or raises the next failure; the last one is repeated."""

    def __init__(self, *given: LoginToken | Exception) -> None:
        self._given = list(given)
        self.asked = 0
        self.release = threading.Event()
        self.release.set()
        self.permits: threading.Semaphore | None = None  # one per call of `token`, if the test sets it

    def token(self) -> LoginToken:
        self.asked += 1
        self.release.wait(20)
        if self.permits is not None:
            self.permits.acquire(timeout=20)
        found = self._given.pop(0) if len(self._given) > 1 else self._given[0]
        if isinstance(found, Exception):
            raise found
        return found


def lasting(seconds: float, text: str = "token") -> LoginToken:
    return LoginToken(text, SystemClock().now_ms() + int(seconds * 1000))


def test_the_first_connection_waits_and_the_others_do_not() -> None:
    source = Source(lasting(3600))
    source.release.clear()
    metadata_updater = TokenRefresher(source, RefreshWindow())

    async def main() -> None:
        waits = [asyncio.ensure_future(metadata_updater.ready()) for _ in range(5)]
        await asyncio.sleep(0)
        assert not any(wait.done() for wait in waits)
        source.release.set()
        await asyncio.gather(*waits)
        assert metadata_updater.show() == "token"
        await metadata_updater.ready()
        assert source.asked == 1

    asyncio.run(main())
    metadata_updater.close()


def test_waiting_ends_at_a_deadline() -> None:
    source = Source(lasting(3600))
    source.release.clear()
    metadata_updater = TokenRefresher(source, RefreshWindow())

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await metadata_updater.ready()

    asyncio.run(main())
    source.release.set()
    metadata_updater.close()


def test_a_failure_is_raised_to_waiting_callers_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    source = Source(TokenUnavailable("status 401"), RuntimeError("secret text"), lasting(60, "second"))
    permits = source.permits = threading.Semaphore(1)
    metadata_updater = TokenRefresher(source, RefreshWindow(), backoff=0.01)

    async def main() -> None:
        with pytest.raises(TokenUnavailable, match="status 401"):
            await metadata_updater.ready()
        second = asyncio.ensure_future(metadata_updater.ready())
        await asyncio.sleep(0)
        permits.release()
        with pytest.raises(TokenUnavailable, match="Source failed with RuntimeError"):
            await second
        permits.release(20)
        await metadata_updater.ready()
        assert metadata_updater.show() == "second"

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    metadata_updater.close()
    assert [record.getMessage() for record in caplog.records] == ["Access token not obtained: status 401"]


def test_the_refresh_interval() -> None:
    clock = ManualClock()
    good = LoginToken("good", clock.now_ms() + 3_600_000)
    source = Source(good, TokenUnavailable("down"), TokenUnavailable("down"), TokenUnavailable("down"), good)
    metadata_updater = TokenRefresher(source, RefreshWindow(jitter=0), 0.1, 0.3, clock)
    assert metadata_updater.step() == pytest.approx(2880)
    assert [metadata_updater.step() for _ in range(3)] == [0.1, 0.2, 0.3]
    assert metadata_updater.show() == "good"  # still valid for a while
    clock.advance(3_600_000)
    assert metadata_updater.step() == pytest.approx(0.3)  # the source's token has expired already
    with pytest.raises(TokenUnavailable, match="already expired"):
        metadata_updater.show()
    metadata_updater.close()
    assert metadata_updater.step() is None
