"""Requests over raw connections, one in flight on each, built before the measurement and checked after it."""

from __future__ import annotations

import gc
import selectors
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.kafka.sides import Address
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.headers import decode_response_header, encode_request_header

_SILENCE_S = 60.0
_CLIENT_ID = "bench-admin"


@dataclass(frozen=True)
class Asked:
    """One request, ready to be sent; the same bytes for every system."""

    api_key: ApiKey
    version: int
    frame: bytes

    def decode(self, answer: bytes) -> Any:
        _, body_at = decode_response_header(answer, self.api_key, self.version)
        return API_TABLE[self.api_key].response.decode(answer, self.version, body_at)


def asked(api_key: ApiKey, version: int, body: Any) -> Asked:
    payload = encode_request_header(api_key, version, 1, _CLIENT_ID) + body.encode(version)
    return Asked(api_key, version, len(payload).to_bytes(4) + payload)


@dataclass(frozen=True)
class Exchanged:
    """The duration of each request in ms, in the order of responses; the responses; the duration of all of it."""

    milliseconds: list[float]
    answers: list[Any]
    seconds: float


class _Client:
    """One connection that sends its requests one after the other."""

    def __init__(self, address: Address, requests: Sequence[Asked]) -> None:
        self.sock = socket.create_connection(address, timeout=30)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._requests = requests
        self._received = bytearray()
        self._began = 0.0
        self.answers: list[bytes] = []

    def send(self) -> None:
        self._began = time.perf_counter()
        self.sock.sendall(self._requests[len(self.answers)].frame)

    def read(self) -> float | None:
        """The duration in ms of a request whose response is now complete, else None."""
        piece = self.sock.recv(1 << 20)
        if not piece:
            raise RuntimeError(f"the connection was closed after {len(self.answers)} answers")
        self._received += piece
        if len(self._received) < 4 or len(self._received) < 4 + int.from_bytes(self._received[:4]):
            return None
        taken = (time.perf_counter() - self._began) * 1_000
        self.answers.append(bytes(self._received[4:]))
        self._received.clear()
        return taken

    @property
    def done(self) -> bool:
        return len(self.answers) == len(self._requests)

    def decoded(self) -> list[Any]:
        return [request.decode(answer) for request, answer in zip(self._requests, self.answers, strict=True)]


def exchange(address: Address, per_client: Sequence[Sequence[Asked]]) -> Exchanged:
    """Sends each list over a connection of its own, all at the same time."""
    clients = [_Client(address, requests) for requests in per_client]
    milliseconds: list[float] = []
    gc.disable()
    try:
        with selectors.DefaultSelector() as selector:
            began = time.perf_counter()
            for client in clients:
                selector.register(client.sock, selectors.EVENT_READ, client)
                client.send()
            while selector.get_map():
                ready = selector.select(_SILENCE_S)
                if not ready:
                    raise RuntimeError(f"no answer for {_SILENCE_S:.0f} s")
                for key, _ in ready:
                    taken = key.data.read()
                    if taken is not None:
                        milliseconds.append(taken)
                        if key.data.done:
                            selector.unregister(key.data.sock)
                        else:
                            key.data.send()
            seconds = time.perf_counter() - began
    finally:
        gc.enable()
        for client in clients:
            client.sock.close()
    return Exchanged(milliseconds, [answer for client in clients for answer in client.decoded()], seconds)


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of them are."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
