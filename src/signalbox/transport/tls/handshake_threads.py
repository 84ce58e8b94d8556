"""The threads for TLS handshakes, so that they do not block the event loop: OpenSSL releases the interpreter's lock
meanwhile.

Two are for the data plane, and one for the control plane and for connections to other brokers, so that a large number
of connecting clients does not delay a broker's requests to its controller (KIP-291). They start with the first
handshake.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor


class HandshakeThreads:
    """One per process; the owner of the data loop creates it."""

    def __init__(self) -> None:
        self.data = ThreadPoolExecutor(2, thread_name_prefix="tls-data")
        self.control = ThreadPoolExecutor(1, thread_name_prefix="tls-control")

    def close(self) -> None:
        """Start no more steps."""
        for executor in (self.data, self.control):
            executor.shutdown(wait=False, cancel_futures=True)
