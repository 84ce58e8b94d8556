"""One TLS connection over memory BIOs: ciphertext in and out, plaintext in and out, no socket.

The handshake's steps are CPU-heavy (about 1 ms each), so they run on threads (`handshake_threads.py`). A step begins
when a whole record is there, and has the OpenSSL object to itself: what arrives meanwhile waits (`tls_records.py`).
Everything else happens on the loop's thread.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from concurrent.futures import Executor

from signalbox.transport.tls_records import TlsRecords


class TlsSession:
    """`server_hostname` is what a client checks the certificate against; None for a server. `executor` None stands for
    asyncio's own threads."""

    __slots__ = ("_begun", "_executor", "_incoming", "_object", "_outgoing", "_records", "_stepping", "established")

    def __init__(
        self,
        context: ssl.SSLContext,
        executor: Executor | None,
        *,
        server_side: bool,
        server_hostname: str | None = None,
    ) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side, server_hostname)
        self._executor = executor
        self._records = TlsRecords()
        self._begun = server_side  # a client begins without having heard anything
        self._stepping = False
        self.established = False

    def receive(self, ciphertext: bytes | memoryview) -> None:
        """Bytes from the wire."""
        if self.established:
            self._incoming.write(ciphertext)
        else:
            self._records.add(ciphertext)

    def advance(self, loop: asyncio.AbstractEventLoop, done: Callable[[Exception | None], None]) -> None:
        """Go on with the handshake as far as the bytes at hand allow, then call `done(error)` on the loop; nothing
        happens where they allow nothing.

        Look at `established` and send `outgoing()` afterwards. While a step runs, further calls do nothing: the
        bytes that came meanwhile start the next step by themselves.
        """
        if self._stepping:
            return
        try:
            records = self._records.take()
        except ValueError as error:
            done(error)
            return
        if self._begun and not records:
            return
        self._incoming.write(records)
        self._begun = self._stepping = True
        try:
            future = loop.run_in_executor(self._executor, self._step)
        except RuntimeError as error:  # the threads have been sent home: the process ends
            done(error)
            return

        def finished(_: object) -> None:
            self._stepping = False
            if future.cancelled():
                return
            error = future.exception()
            self.established = error is None and future.result()
            if self.established:
                self._incoming.write(self._records.take_all())
            done(error if isinstance(error, Exception) else None)
            if error is None and not self.established:
                self.advance(loop, done)

        future.add_done_callback(finished)

    def _step(self) -> bool:
        """Whether the handshake is through. In a thread: `established` is the loop's, which still holds back bytes."""
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

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
    def answers_only_renegotiation(self) -> bool:
        """Whether what reading leaves in `outgoing` can only be the refusal of a handshake that the peer asked for
        again: TLS 1.3 knows no such thing, but key updates and tickets."""
        return self._object.version() == "TLSv1.2"

    @property
    def peer_certificate(self) -> bytes | None:
        """The peer's verified certificate in DER; None when it gave none."""
        return self._object.getpeercert(binary_form=True)


TlsFactory = Callable[[], TlsSession]
