"""TLS between asyncio's transport and a protocol that does not handle TLS, for outbound connections.

asyncio's own TLS runs the handshake on the event loop's thread, a millisecond each time. Here it runs on threads, as
for all other connections (`tls_session.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from signalbox.transport.tls.tls_failure import ENDED_EARLY, TlsFailed, broken_reason, failure_reason
from signalbox.transport.tls.tls_session import TlsSession

_RECORD_BYTES = 16_384  # the most that one read returns


class TlsStream(asyncio.Protocol):
    """`established` completes when `connection_made` of `inner` was called, or fails with TlsFailed; cancelling it ends
    the stream."""

    def __init__(self, session: TlsSession, inner: asyncio.Protocol) -> None:
        self._session = session
        self._inner = inner
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._broken: Exception | None = None
        self._plaintext = memoryview(bytearray(_RECORD_BYTES))
        self.established: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._session.advance(self._loop, self._on_handshake_step)

    def data_received(self, data: bytes) -> None:
        self._session.receive(data)
        if self._session.established:
            self._decrypt()
        else:
            self._session.advance(self._loop, self._on_handshake_step)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if not self.established.done():
            self.established.set_exception(TlsFailed(ENDED_EARLY))
        elif not self.established.cancelled() and self.established.exception() is None:
            self._inner.connection_lost(self._broken or exc)

    def write(self, data: bytes) -> None:
        """Plaintext from `inner`."""
        self._session.write(data)
        self.send_out()

    def send_out(self) -> None:
        """Send the bytes that OpenSSL has for the socket."""
        data = self._session.outgoing()
        if data and self._transport is not None:
            self._transport.write(data)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _on_handshake_step(self, error: Exception | None) -> None:
        if self.established.done() or self._transport is None:
            self.abort()  # no caller waits any more
            return
        self.send_out()
        if error is not None:
            self.established.set_exception(TlsFailed(failure_reason(error)))
            self.abort()
        elif self._session.established:
            self._inner.connection_made(_Plaintext(self, self._transport))
            self.established.set_result(None)
            self._decrypt()

    def _decrypt(self) -> None:
        session, plaintext = self._session, self._plaintext
        try:
            while self._transport is not None and (count := session.read_into(plaintext)):
                if count < 0:
                    self._transport.close()
                    return
                self._inner.data_received(bytes(plaintext[:count]))
            self.send_out()  # a key update
        except OSError as error:  # ssl.SSLError is one
            self._broken = ConnectionError(broken_reason(error))
            self.abort()


class _Plaintext(asyncio.Transport):
    """The transport that `inner` writes to."""

    def __init__(self, stream: TlsStream, transport: asyncio.Transport) -> None:
        super().__init__()
        self._stream = stream
        self._transport = transport

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._stream.write(bytes(data))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self._stream.write(b"".join(list_of_data))

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()
