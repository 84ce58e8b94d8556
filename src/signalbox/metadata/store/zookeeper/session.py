"""One ZooKeeper session over kazoo, used from the event loop.

kazoo runs in threads of its own: one writes and reads the socket, two call back. Requests are queued from the loop and
sent in that order, which ZooKeeper keeps; responses and events are passed to the loop. After the end of a session kazoo
would open a new one and send later requests in it. A commit for the old session must not be applied in the new one, so
`_Client` rejects all requests as soon as the end is known, under one lock.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    AuthFailedError,
    ConnectionClosedError,
    ConnectionLoss,
    NoAuthError,
    SessionExpiredError,
    SessionMovedError,
)
from kazoo.protocol.serialization import Exists
from kazoo.protocol.states import KazooState, KeeperState

from signalbox.metadata.store.port import SessionLost, StoreError, StoreUnavailable
from signalbox.metadata.store.zookeeper.access import ZooKeeperAccess
from signalbox.metadata.store.zookeeper.connection import Connection, Sockets, hide_payloads

log = logging.getLogger(__name__)

_LOST = (ConnectionLoss, SessionMovedError)
_ATTEMPTS = 3  # at least as many attempts to connect fit into a session timeout, with more servers one for each
_ENDED = (KeeperState.EXPIRED_SESSION, KeeperState.AUTH_FAILED, KeeperState.CLOSED)


class Session:
    """`on_state` is called on the loop with kazoo's states: CONNECTED (again), SUSPENDED, LOST."""

    def __init__(self, hosts: str, access: ZooKeeperAccess, on_state: Callable[[Session, str], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._hosts = hosts
        self._access = access
        self._on_state = on_state
        self._connected = asyncio.Event()
        self.ended = False
        self._client = _Client(hosts, access)
        self._client.add_listener(lambda state: self._call_on_loop(self._state_changed, state))

    @property
    def session_id(self) -> int:
        """ZooKeeper's session id, a signed number of 64 bits."""
        identity = self._client.client_id
        return int(identity[0]) if identity else 0

    async def start(self) -> None:
        """Connect and log in. StoreUnavailable within the connection timeout, StoreError when the login fails."""
        timeout_s = self._access.connection_timeout_ms / 1000
        self._client.start_async()
        try:
            async with asyncio.timeout(timeout_s):
                await self._connected.wait()
                await self.ask(Exists("/", None), again=True)  # kazoo reports CONNECTED before the login
        except TimeoutError:
            await self.stop()
            trouble = f" ({self._client.trouble})" if self._client.trouble else ""
            raise StoreUnavailable(f"no ZooKeeper at {self._hosts} within {timeout_s:g} s{trouble}") from None
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """End the session; its entries are deleted. Does nothing the second time."""
        await asyncio.to_thread(self._stop)

    async def ask(self, request: Any, *, again: bool) -> Any:
        """ZooKeeper's response to a request. `again`: retry after a lost connection (for requests that change
        nothing)."""
        return (await self.ask_all([request], again=again))[0]

    async def ask_all(self, requests: Sequence[Any], *, again: bool) -> list[Any]:
        """The responses to requests that are sent together. An error of the first request is raised; an error of a
        later one is returned in place of its response.

        SessionLost, StoreUnavailable (it is unknown whether the requests were executed), StoreError; kazoo's own errors
        about entries (NoNodeError and the like) are passed on."""
        try:
            async with asyncio.timeout(self._access.session_timeout_ms / 1000):
                while True:
                    await self._until_connected()
                    sent = (self.send(request) for request in requests)
                    answers: list[Any] = await asyncio.gather(*sent, return_exceptions=True)
                    if again and any(isinstance(answer, _LOST) for answer in answers):
                        continue
                    if isinstance(answers[0], _LOST):
                        raise StoreUnavailable(f"the connection to ZooKeeper was lost: {answers[0]!r}")
                    if isinstance(answers[0], BaseException):
                        raise answers[0]
                    return answers
        except TimeoutError:
            raise StoreUnavailable(
                f"ZooKeeper at {self._hosts} did not answer within {self._access.session_timeout_ms} ms"
            ) from None
        except SessionExpiredError as error:
            if self._client.rejected:
                raise StoreError(self._client.trouble) from error
            raise SessionLost("the session has ended") from error
        except ConnectionClosedError as error:
            raise StoreUnavailable("the connection to ZooKeeper is closed") from error
        except (AuthFailedError, NoAuthError) as error:
            trouble = self._client.trouble if self._client.rejected else f"ZooKeeper rejects this broker: {error!r}"
            raise StoreError(trouble) from error

    def send(self, request: Any) -> asyncio.Future[Any]:
        """Queue a request now; returns a future of its response, or kazoo's error."""
        future: asyncio.Future[Any] = self._loop.create_future()
        answer = self._client.handler.async_result()
        answer.rawlink(lambda done: self._call_on_loop(_settle, future, done))
        self._client._call(request, answer)
        return future

    def watcher(self, callback: Callable[[], None]) -> Callable[[Any], None]:
        """A watcher for kazoo that calls `callback` on the loop when the watched entry has changed."""

        def on_event(event: Any) -> None:
            if event.type != "NONE":  # NONE is a change of the connection, for which `on_state` is called
                self._call_on_loop(callback)

        return on_event

    async def _until_connected(self) -> None:
        if self.ended:
            raise SessionExpiredError
        await self._connected.wait()
        if self.ended:
            raise SessionExpiredError

    def _state_changed(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            self._connected.set()
        elif state == KazooState.SUSPENDED:
            self._connected.clear()
        else:
            self.ended = True
            self._connected.set()  # wakes waiting requests, which then fail
        self._on_state(self, state)

    def _call_on_loop(self, callback: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:
            log.debug("ZooKeeper notification ignored, the event loop is closed")

    def _stop(self) -> None:
        try:
            self._client.stop()
            self._client._safe_close()  # `stop` does not end the threads of a session that has ended already
            self._client.close()
        except Exception as error:
            log.warning("ZooKeeper session could not be closed and will expire: %r", error)


class _Client(KazooClient):  # type: ignore[misc]  # kazoo has no types
    """kazoo's client for one session only."""

    def __init__(self, hosts: str, access: ZooKeeperAccess) -> None:
        self._gate = threading.RLock()
        self._session_ended = False
        self.rejected = False  # the login failed: this client will never have a session
        timeout_s = access.session_timeout_ms / 1000
        super().__init__(
            hosts,
            timeout=timeout_s,
            # Without limit: kazoo's default is one round of all servers, after which it gives up a live session.
            connection_retry={"max_tries": -1, "max_delay": 1.0},
            handler=Sockets(access.tls, timeout_s / max(_ATTEMPTS, len(hosts.split(",")))),
        )
        self.logger.addFilter(hide_payloads)  # all clients share one logger, which adds the same filter only once
        kazoos: Any = self._connection
        self._connection: Any = Connection(self, kazoos.retry_sleeper, self.logger, access.login)

    @property
    def trouble(self) -> str:
        """Why the last connection failed, "" if none failed."""
        return str(self.handler.trouble)

    def _session_callback(self, state: Any) -> None:
        with self._gate:
            if state in _ENDED:
                self._session_ended = True
                self.rejected = self.rejected or state == KeeperState.AUTH_FAILED
                self._stopped.set()  # no session after this one: ends kazoo's connecting loop
            super()._session_callback(state)

    def _call(self, request: Any, async_object: Any) -> Any:
        with self._gate:
            if self._session_ended:
                async_object.set_exception(SessionExpiredError())
                return False
            return super()._call(request, async_object)


def _settle(future: asyncio.Future[Any], done: Any) -> None:
    if future.done():
        return
    if done.exception is not None:
        future.set_exception(done.exception)
    else:
        future.set_result(done.value)
