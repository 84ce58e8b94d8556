"""One TLS connection over memory BIOs: ciphertext in and out, plaintext in and out, no socket.

The handshake's steps are CPU-heavy (about 1 ms each), so they run on a pool of two threads (`DataLoop.handshakes`).
A step has the OpenSSL object to itself: what arrives meanwhile waits in a list. Everything else happens on the
loop's thread.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

# A peer that keeps sending while a step runs cannot pile up more than this before it is refused.
_MAX_HANDSHAKE_BYTES = 1_048_576


class TlsSession:
    """`server_hostname` is what a client checks the certificate against; None for a server."""

    __slots__ = ("_executor", "_incoming", "_object", "_outgoing", "_stepping", "_waiting", "established")

    def __init__(
        self,
        context: ssl.SSLContext,
        executor: Executor,
        *,
        server_side: bool,
        server_hostname: str | None = None,
    ) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side, server_hostname)
        self._executor = executor
        self._stepping = False
        self._waiting: list[bytes] = []
        self.established = False

    def receive(self, ciphertext: bytes | memoryview) -> None:
        """Bytes from the wire."""
        if self._stepping:
            self._waiting.append(bytes(ciphertext))
        else:
            self._incoming.write(ciphertext)

    def advance(self, loop: asyncio.AbstractEventLoop, done: Callable[[Exception | None], None]) -> None:
        """Go on with the handshake as far as the bytes at hand allow, then call `done(error)` on the loop.

        Look at `established` and send `outgoing()` afterwards. While a step runs, further calls do nothing: the
        bytes that came meanwhile start the next step by themselves.
        """
        if self._stepping:
            if sum(map(len, self._waiting)) > _MAX_HANDSHAKE_BYTES:
                done(ssl.SSLError("too many bytes during the handshake"))
            return
        self._stepping = True
        future = loop.run_in_executor(self._executor, self._step)

        def finished(_: object) -> None:
            self._stepping = False
            if future.cancelled():
                return
            waiting, self._waiting = self._waiting, []
            for piece in waiting:
                self._incoming.write(piece)
            error = future.exception()
            done(error if isinstance(error, Exception) else None)
            if waiting and error is None and not self.established:
                self.advance(loop, done)

        future.add_done_callback(finished)

    def _step(self) -> None:
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return
        self.established = True

    def read_into(self, target: memoryview) -> int:
        """Plaintext into `target`; 0 when there is none yet, -1 when the peer has said goodbye. ssl.SSLError."""
        try:
            count: int = self._object.read(len(target), target)  # type: ignore[assignment]
        except ssl.SSLWantReadError:
            return 0
        except ssl.SSLZeroReturnError:
            return -1
        return count or -1

    def write(self, plaintext: bytes | memoryview) -> None:
        """Encrypt; the result waits in `outgoing`. ssl.SSLError."""
        if len(plaintext):
            self._object.write(plaintext)

    def say_goodbye(self) -> None:
        """Put a close_notify into `outgoing`, so that the peer knows the end is no truncation."""
        try:
            self._object.unwrap()
        except (ssl.SSLError, OSError, ValueError):
            return  # the peer's own goodbye is not waited for

    @property
    def has_input(self) -> bool:
        """Whether there may be plaintext left to read."""
        return bool(self._incoming.pending or self._object.pending())

    def outgoing(self) -> bytes:
        """Bytes for the wire, b"" when there are none."""
        return self._outgoing.read() if self._outgoing.pending and not self._stepping else b""

    @property
    def peer_certificate(self) -> dict[str, Any] | None:
        """The peer's verified certificate; None when it gave none."""
        return self._object.getpeercert() or None


TlsFactory = Callable[[], TlsSession]
