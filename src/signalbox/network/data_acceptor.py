"""The data plane's acceptor: a listening socket in the data loop, a few new connections per turn.

A turn takes at most 16 from one listener, so a storm of connects cannot starve the connections that are there. When
limits leave no room (`ready` says so), or the process is out of descriptors, the listening socket leaves the set and
comes back later: the kernel's backlog holds the newcomers meanwhile, as Kafka's blocked acceptor does.
"""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Callable

from signalbox.common.limits import ACCEPTS_PER_TURN
from signalbox.transport.data_loop import DataLoop

_RETRY_SECONDS = 0.1
_OUT_OF_RESOURCES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

log = logging.getLogger("signalbox.network.acceptor")


class DataAcceptor:
    """`ready()` gives the seconds to wait before the next accept (0: now); `accepted(sock)` takes the socket over."""

    def __init__(
        self,
        loop: DataLoop,
        sock: socket.socket,
        ready: Callable[[], float],
        accepted: Callable[[socket.socket], None],
    ) -> None:
        self._loop = loop
        self._sock = sock
        self._ready = ready
        self._accepted = accepted
        self._started = False
        self._paused_at: float | None = None
        self._paused_before = 0.0

    @property
    def paused_seconds(self) -> float:
        """How long nobody was let in so far, for lack of room."""
        now_paused = 0.0 if self._paused_at is None else self._loop.asyncio_loop.time() - self._paused_at
        return self._paused_before + now_paused

    def start(self) -> None:
        """Begin to accept."""
        self._started = True
        self._loop.register(self._sock, self)

    def on_events(self, events: int) -> None:
        for _ in range(ACCEPTS_PER_TURN):
            wait = self._ready()
            if wait > 0:
                self._pause(wait)
                return
            try:
                sock, _address = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_RESOURCES:
                    raise
                log.warning("cannot accept on %s: %s", self._sock.getsockname(), error)
                self._pause(_RETRY_SECONDS)
                return
            self._accepted(sock)

    def stop(self) -> None:
        """Accept no more; the socket is closed."""
        if self._started and self._paused_at is None and not self._loop.closed:
            self._loop.unregister(self._sock)
        self._started = False
        self._sock.close()

    def _pause(self, seconds: float) -> None:
        self._paused_at = self._loop.asyncio_loop.time()
        self._loop.unregister(self._sock)
        self._loop.asyncio_loop.call_later(seconds, self._resume)

    def _resume(self) -> None:
        if self._paused_at is not None and self._started and not self._loop.closed:
            self._paused_before, self._paused_at = self.paused_seconds, None
            self._loop.register(self._sock, self)
