"""Malicious clients, and a well-behaved client that they must not affect."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType

from signalbox.common.limits import SHARED_RECEIVE_BUFFER_BYTES
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import encode_request_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.wire import dial, framed

API_VERSIONS = ApiVersionsRequest(client_software_name="attacker", client_software_version="1").encode(3)
REQUEST_TIMEOUT_S = 30.0  # Kafka's default request.timeout.ms
METADATA = MetadataRequest(topics=[]).encode(12)


class Bystander:
    """A well-behaved client that sends requests on one connection inside the block. Its connection must stay open, and
    no response may take as long as a client's request.timeout.ms. (Shorter times are for benchmarks.)"""

    def __init__(self, cluster: ProcessCluster, listener: str = "CLIENT") -> None:
        self._wire = dial(cluster, 1, listener)
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._stop = threading.Event()
        self._failure: Exception | None = None
        self._seconds: list[float] = []

    def __enter__(self) -> Bystander:
        self._ask_once()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(30)
        self._wire.__exit__()
        if kind is None:
            assert self._failure is None, f"its connection was harmed: {self._failure!r}"
            slowest_s = max(self._seconds)
            assert slowest_s < REQUEST_TIMEOUT_S, f"other clients delayed it by {slowest_s:.1f} s"

    @property
    def asked(self) -> int:
        return len(self._seconds)

    def has_asked(self, times: int) -> bool:
        """True if it received at least so many responses."""
        return self.asked >= times

    def _ask_once(self) -> None:
        began = time.perf_counter()
        self._wire.ask_raw(ApiKey.API_VERSIONS, 3, API_VERSIONS)
        self._seconds.append(time.perf_counter() - began)

    def _ask(self) -> None:
        try:
            while not self._stop.wait(0.002):
                self._ask_once()
        except Exception as error:
            self._failure = error


def connect(address: str, source: str = "127.0.0.1") -> socket.socket:
    """A connection from any source address: all of 127/8 is local."""
    host, _, port = address.rpartition(":")
    sock = socket.socket()
    try:
        # The port is chosen at the connect: a bind searches for one that no closed connection still holds, for seconds.
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_BIND_ADDRESS_NO_PORT, 1)
        sock.bind((source, 0))
        sock.settimeout(15)
        sock.connect((host, int(port)))
    except BaseException:
        sock.close()
        raise
    return sock


@contextmanager
def crowd(address: str, count: int, source: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """`count` connections."""
    with ExitStack() as stack:
        yield [stack.enter_context(connect(address, source)) for _ in range(count)]


def is_served(sock: socket.socket, timeout_s: float = 5) -> bool:
    """True if a request on it is answered: False if the broker closes or does not respond for so long."""
    sock.settimeout(timeout_s)
    try:
        sock.sendall(request(ApiKey.API_VERSIONS, 3, API_VERSIONS))
        return sock.recv(4) != b""
    except (TimeoutError, ConnectionError):
        return False


def flood(api_key: ApiKey, version: int, body: bytes) -> bytes:
    """Several times as many requests as the broker reads at once."""
    one = request(api_key, version, body)
    return one * (2 * SHARED_RECEIVE_BUFFER_BYTES // len(one))


def request(api_key: ApiKey, version: int, body: bytes) -> bytes:
    """One framed request."""
    return framed(encode_request_header(api_key, version, 1, "attacker") + body)


def drained(sock: socket.socket) -> threading.Thread:
    """Reads and drops all data until the connection ends."""

    def drain() -> None:
        try:
            while sock.recv(1 << 20):
                pass
        except OSError:
            return

    thread = threading.Thread(target=drain, daemon=True)
    thread.start()
    return thread


def closed_within(sock: socket.socket, seconds: float) -> float:
    """The time until the broker closed, dropping the data that it sent; AssertionError if it did not close."""
    began = time.monotonic()
    sock.settimeout(0.2)
    while time.monotonic() - began < seconds:
        try:
            if not sock.recv(1 << 20):
                return time.monotonic() - began
        except TimeoutError:
            continue
        except ConnectionError:
            return time.monotonic() - began
    raise AssertionError(f"still open after {seconds} s")


def resident_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def process_id(cluster: ProcessCluster) -> int:
    process = cluster.brokers[1].process
    assert process is not None
    return process.pid


def announced(size_bytes: int) -> bytes:
    """The start of a frame whose rest is never sent."""
    return struct.pack(">i", size_bytes) + b"\0\3"
