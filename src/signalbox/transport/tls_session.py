"""One TLS connection over memory BIOs: ciphertext in and out, plaintext in and out, no socket.

The handshake's steps are CPU-heavy (about 1 ms each) and touch nothing but this object, so the channels run them on
a pool of two threads; everything else happens on the loop's thread, never at the same time as a step.
"""

from __future__ import annotations

import ssl
from typing import Any


class TlsSession:
    """`server_hostname` is what a client checks the certificate against."""

    __slots__ = ("_incoming", "_object", "_outgoing", "established")

    def __init__(
        self, context: ssl.SSLContext, *, server_side: bool, server_hostname: str | None = None
    ) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_side, server_hostname)
        self.established = False

    def receive(self, ciphertext: bytes | memoryview) -> None:
        """Bytes from the wire."""
        self._incoming.write(ciphertext)

    def step(self) -> bool:
        """Go on with the handshake as far as the bytes at hand allow; True when it is through. ssl.SSLError."""
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        self.established = True
        return True

    def read_into(self, target: memoryview) -> int:
        """Plaintext into `target`; 0 when there is none yet, -1 when the peer has said goodbye. ssl.SSLError."""
        try:
            count = self._object.read(len(target), target)  # type: ignore[arg-type]
        except ssl.SSLWantReadError:
            return 0
        except ssl.SSLZeroReturnError:
            return -1
        return count or -1  # type: ignore[return-value]

    def write(self, plaintext: bytes | memoryview) -> None:
        """Encrypt; the result waits in `outgoing`."""
        if len(plaintext):
            self._object.write(plaintext)  # type: ignore[arg-type]

    def outgoing(self) -> bytes:
        """Bytes for the wire, b"" when there are none."""
        return self._outgoing.read() if self._outgoing.pending else b""

    @property
    def peer_certificate(self) -> dict[str, Any] | None:
        """The peer's verified certificate; None when it gave none."""
        return self._object.getpeercert() or None
