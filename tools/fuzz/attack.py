"""Sends fuzzed frames over many connections and records the result of each.

Each frame is followed by a sentinel, a valid ApiVersions request. Either the sentinel is answered (the frame was
processed, whatever the response), or the connection is closed, or neither happens in time: then the frame has parked
the connection, as a fetch with a long wait may.
"""

from __future__ import annotations

import select
import socket
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import encode_request_header
from tools.fuzz.frame_stream import SENTINEL_ID, Fuzzed

_CONNECTIONS = 48
_PATIENCE_SECONDS = 1.0
_SWEEP_SECONDS = 0.1
_HEADER = encode_request_header(int(ApiKey.API_VERSIONS), 0, SENTINEL_ID, "fuzz")
SENTINEL = len(_HEADER).to_bytes(4) + _HEADER
Address = tuple[str, int]


@dataclass(slots=True)
class FrameStats:
    """The results of the frames."""

    sent: int = 0
    answered: int = 0
    closed: int = 0
    parked: int = 0
    misanswered: list[str] = field(default_factory=list)
    by_mutation: Counter[str] = field(default_factory=Counter)


class _Peer:
    """One connection with one frame in flight."""

    __slots__ = ("address", "deadline", "fuzzed", "received", "sock", "unsent")

    def __init__(self, address: Address) -> None:
        self.address = address
        self.sock = socket.create_connection(address, timeout=10)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.setblocking(False)
        self.received = bytearray()
        self.unsent = b""
        self.deadline = 0.0
        self.fuzzed: Fuzzed | None = None


class Attack:
    """The connections use `addresses` in turn."""

    def __init__(self, addresses: list[Address]) -> None:
        self._addresses = addresses
        self._poll = select.epoll()
        self._peers: dict[int, _Peer] = {}
        self.stats = FrameStats()

    def run(self, frames: Iterator[Fuzzed], count: int) -> None:
        """Sends `count` frames and awaits their results. ConnectionError if the broker accepts no connection."""
        until = self.stats.sent + count
        for number in range(_CONNECTIONS):
            self._next(self._connect(self._addresses[number % len(self._addresses)]), frames)
        swept_at = time.monotonic()
        while self.stats.sent < until:
            for descriptor, _ in self._poll.poll(_SWEEP_SECONDS):
                self._receive(self._peers[descriptor], frames)
            now = time.monotonic()
            if now - swept_at > _SWEEP_SECONDS:
                swept_at = now
                for peer in [peer for peer in self._peers.values() if peer.deadline < now]:
                    self.stats.parked += 1
                    self._replace(peer, frames)
        for peer in list(self._peers.values()):
            self._drop(peer)

    def _connect(self, address: Address) -> _Peer:
        peer = _Peer(address)
        self._peers[peer.sock.fileno()] = peer
        self._poll.register(peer.sock, select.EPOLLIN)
        return peer

    def _drop(self, peer: _Peer) -> None:
        del self._peers[peer.sock.fileno()]
        self._poll.unregister(peer.sock)
        peer.sock.close()

    def _replace(self, peer: _Peer, frames: Iterator[Fuzzed]) -> None:
        self._drop(peer)
        self._next(self._connect(peer.address), frames)

    def _next(self, peer: _Peer, frames: Iterator[Fuzzed]) -> None:
        peer.fuzzed = fuzzed = next(frames)
        peer.received.clear()
        peer.deadline = time.monotonic() + _PATIENCE_SECONDS
        self.stats.sent += 1
        self.stats.by_mutation[fuzzed.mutation] += 1
        try:
            peer.sock.send(fuzzed.wire + SENTINEL)  # far less than the send buffer of a new socket
        except OSError:
            peer.deadline = 0.0  # closed already; the sweep replaces it

    def _receive(self, peer: _Peer, frames: Iterator[Fuzzed]) -> None:
        try:
            data = peer.sock.recv(262_144)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.stats.closed += 1
            self._replace(peer, frames)
            return
        peer.received += data
        if self._sentinel_answered(peer):
            self.stats.answered += 1
            self._next(peer, frames)

    def _sentinel_answered(self, peer: _Peer) -> bool:
        """Takes complete responses out of the received bytes; each must carry the correlation id of its request."""
        received = peer.received
        while len(received) >= 8:
            size = int.from_bytes(received[:4])
            if len(received) < 4 + size:
                return False
            correlation_id = int.from_bytes(received[4:8])
            del received[: 4 + size]
            if correlation_id == SENTINEL_ID:
                return True
            assert peer.fuzzed is not None
            if correlation_id != int.from_bytes(peer.fuzzed.wire[8:12]):
                self.stats.misanswered.append(f"{peer.fuzzed.mutation}: {peer.fuzzed.wire[:40].hex()}")
        return False
