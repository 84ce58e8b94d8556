"""One TLS connection over memory BIOs: ciphertext in and out, plaintext in and out, no socket.

The steps of a handshake need much CPU time (about 1 ms each), so they run on threads (`HandshakeThreads`), where
OpenSSL releases the interpreter's lock. A step begins when a complete record has arrived. Only the step uses the
OpenSSL object then: bytes that arrive meanwhile wait (`tls_records.py`). Everything else happens on the loop's thread.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

from signalbox.transport.tls.tls_records import TlsRecords


class HandshakeThreads:
    """One per process; the owner of the data loop creates it. The threads start with the first handshake.

    Two are for the data plane, and one for the control plane and for connections to other brokers, so that a large
    number of connecting clients does not delay a broker's requests to its controller (KIP-291).
    """

    def __init__(self) -> None:
        self.data = ThreadPoolExecutor(2, thread_name_prefix="tls-data")
        self.control = ThreadPoolExecutor(1, thread_name_prefix="tls-control")

    def close(self) -> None:
        """Start no more steps."""
        for executor in (self.data, self.control):
            executor.shutdown(wait=False, cancel_futures=True)


class TlsSession:
    """`server_hostname` is the name that a client checks the certificate against; None for a server. `executor` None:
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
        self._begun = server_side  # a client begins without any received bytes
        self._stepping = False
        self.established = False

    def receive(self, ciphertext: bytes | memoryview) -> None:
        """Bytes from the socket."""
        if self.established:
            self._incoming.write(ciphertext)
        else:
            self._records.add(ciphertext)

    def advance(self, loop: asyncio.AbstractEventLoop, done: Callable[[Exception | None], None]) -> None:
        """Continue the handshake with the bytes that have arrived, then call `done(error)` on the loop. Without a
        complete record nothing happens.

        Check `established` and send `outgoing()` afterwards. While a step runs, further calls do nothing: bytes that
        arrive meanwhile start the next step when the current one ends.
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
        except RuntimeError as error:  # the threads are shut down: the process ends
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
        """Whether the handshake is complete. In a thread; `established` is set on the loop, which still holds back
        bytes."""
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def read_into(self, target: memoryview) -> int:
        """Decrypt into `target`; 0 if there is no plaintext yet, -1 after the peer's close_notify. ssl.SSLError."""
        try:
            count: int = self._object.read(len(target), target)  # type: ignore[assignment]
        except ssl.SSLWantReadError:
            return 0
        except ssl.SSLZeroReturnError:
            return -1
        return count or -1

    def write(self, plaintext: bytes | memoryview) -> None:
        """Encrypt; the result is in `outgoing`. ssl.SSLError."""
        if len(plaintext):
            self._object.write(plaintext)

    def send_close_notify(self) -> None:
        """Put a close_notify into `outgoing`, so that the peer knows that the end is not a truncation."""
        try:
            self._object.unwrap()
        except (ssl.SSLError, OSError, ValueError):
            return  # the peer's own close_notify is not awaited

    @property
    def has_input(self) -> bool:
        """Whether there may be plaintext to read."""
        return bool(self._incoming.pending or self._object.pending())

    def outgoing(self) -> bytes:
        """Bytes for the socket, b"" if there are none."""
        return self._outgoing.read() if self._outgoing.pending and not self._stepping else b""

    @property
    def outgoing_is_renegotiation(self) -> bool:
        """Whether the bytes that a read leaves in `outgoing` can only be the rejection of a renegotiation that the peer
        asked for. TLS 1.3 has no renegotiation, but key updates and session tickets."""
        return self._object.version() == "TLSv1.2"

    @property
    def peer_certificate(self) -> bytes | None:
        """The peer's verified certificate in DER; None if it sent none."""
        return self._object.getpeercert(binary_form=True)


TlsFactory = Callable[[], TlsSession]
