"""Acceptors of the data plane and of plain asyncio: they accept new connections in batches, and pause at limits.

When a limit is reached (`wait_seconds` returns a wait), or the system returns no socket, the listening socket is not
polled for a while: new connections wait in the kernel's backlog, as with Kafka's blocked acceptor.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from signalbox.common.limits import MAX_ACCEPTS_AT_ONCE, MAX_CONTROL_ACCEPTS_AT_ONCE
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.fair_scheduler import FairMember

_RETRY_SECONDS = 0.1

WaitSeconds = Callable[[], float]
OnAccepted = Callable[[socket.socket, Any], None]

log = logging.getLogger("signalbox.network.acceptors.acceptor")


class Acceptor(ABC):
    """`wait_seconds()` returns the seconds to wait before the next accept (0: now); `on_accepted(sock, address)`
    becomes the owner of the accepted socket. The listening socket belongs to the acceptor."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        wait_seconds: WaitSeconds,
        on_accepted: OnAccepted,
        batch_size: int,
    ) -> None:
        self._asyncio_loop = loop
        self._sock = sock
        self._wait_seconds = wait_seconds
        self._on_accepted = on_accepted
        self._batch_size = batch_size
        self._started = False
        self._paused_at: float | None = None
        self._paused_before = 0.0
        self._is_failing = False

    @property
    def paused_seconds(self) -> float:
        """The total time so far in which no connection was accepted because of a pause."""
        now_paused = 0.0 if self._paused_at is None else self._asyncio_loop.time() - self._paused_at
        return self._paused_before + now_paused

    def start(self) -> None:
        """Start accepting."""
        self._started = True
        self._watch()

    def stop(self) -> None:
        """Stop accepting and close the listening socket."""
        if self._started and self._paused_at is None:
            self._unwatch()
        self._started = False
        self._sock.close()

    @abstractmethod
    def _watch(self) -> None:
        """Call `_accept_batch` when a new connection waits."""

    @abstractmethod
    def _unwatch(self) -> None: ...

    def _overdue(self) -> bool:
        """Whether the batch has used its time."""
        return False

    def _accept_batch(self) -> None:
        """Accept one batch: at most `batch_size` connections, and no longer than `_overdue` allows (a new connection
        with TLS costs ten times as much as one without)."""
        for _ in range(self._batch_size):
            if not self._started or self._paused_at is not None:
                return
            wait = self._wait_seconds()
            if wait > 0:
                self._pause(wait)
                return
            try:
                sock, address = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionError):
                return
            except OSError as error:
                self._failed(error)
                return
            self._is_failing = False
            self._on_accepted(sock, address)
            if self._overdue():
                return

    def _failed(self, error: OSError) -> None:
        """No descriptors, no memory, or a network that is down: retried after a pause, logged once."""
        if not self._is_failing:
            self._is_failing = True
            log.warning("Connections cannot be accepted on %s and wait: %s", self._sock.getsockname(), error)
        self._pause(_RETRY_SECONDS)

    def _pause(self, seconds: float) -> None:
        self._paused_at = self._asyncio_loop.time()
        self._unwatch()
        self._asyncio_loop.call_later(seconds, self._resume)

    def _resume(self) -> None:
        if self._paused_at is not None and self._started and not self._asyncio_loop.is_closed():
            self._paused_before, self._paused_at = self.paused_seconds, None
            self._watch()


class DataAcceptor(Acceptor):
    """The data plane's acceptor: a listening socket in the data loop. An iteration accepts at most 16 new connections
    of one listener, and no more of them when it is overdue, as with the requests of one connection: a storm of connects
    cannot starve existing connections."""

    def __init__(self, loop: DataLoop, sock: socket.socket, wait_seconds: WaitSeconds, on_accepted: OnAccepted) -> None:
        super().__init__(loop.asyncio_loop, sock, wait_seconds, on_accepted, MAX_ACCEPTS_AT_ONCE)
        self._loop = loop
        self.fair = FairMember()

    def on_events(self, events: int) -> None:
        self._accept_batch()

    def _watch(self) -> None:
        if not self._loop.closed:
            self._loop.register(self._sock, self)

    def _unwatch(self) -> None:
        if not self._loop.closed:
            self._loop.unregister(self._sock)

    def _overdue(self) -> bool:
        return self._loop.overdue()


class StreamAcceptor(Acceptor):
    """An acceptor on plain asyncio, apart from the data loop: control planes, controllers' listeners, the metrics page.
    Existing connections have priority: a new connection is accepted after all events of the same poll are handled, and
    only one new connection before the next poll."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, sock: socket.socket, wait_seconds: WaitSeconds, on_accepted: OnAccepted
    ) -> None:
        super().__init__(loop, sock, wait_seconds, on_accepted, MAX_CONTROL_ACCEPTS_AT_ONCE)
        self._is_scheduled = False  # whether an accept is scheduled for the end of this poll

    def _watch(self) -> None:
        self._asyncio_loop.add_reader(self._sock, self._readable)

    def _unwatch(self) -> None:
        self._asyncio_loop.remove_reader(self._sock)

    def _readable(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._asyncio_loop.call_soon(self._accept_scheduled)

    def _accept_scheduled(self) -> None:
        self._is_scheduled = False
        self._accept_batch()
