"""The threads on which TLS shakes hands, so that the event loop is not held up: OpenSSL lets go of the interpreter's
lock meanwhile.

Two for the data plane, and one of its own for the control plane and for connections to other brokers, so that a storm
of clients that connect does not keep a broker from its controller (KIP-291). They start with the first handshake.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor


class HandshakeThreads:
    """One per process; whoever owns the data loop."""

    def __init__(self) -> None:
        self.data = ThreadPoolExecutor(2, thread_name_prefix="tls-data")
        self.control = ThreadPoolExecutor(1, thread_name_prefix="tls-control")

    def close(self) -> None:
        """Start no more steps."""
        for executor in (self.data, self.control):
            executor.shutdown(wait=False, cancel_futures=True)
