"""The control plane: it refuses data, and it stays quick while data floods the broker."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from signalbox.cli.demo.stage import Stage
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.headers import encode_request_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.metadata import MetadataRequest

_REFUSED = "kafka_network_socketserver_controlplanerejectedrequests"


def refuse_data(stage: Stage) -> None:
    """Metadata on the forced control plane: the connection is closed without an answer."""
    answer = _exchange(stage, 1, _frame(ApiKey.METADATA, 12, MetadataRequest(topics=None).encode(12)))
    stage.check("a data request on the control plane is refused", answer == b"", "connection closed")
    answer = _exchange(stage, 1, _api_versions())
    stage.check("controller requests' set-up still works there", len(answer) > 20, f"{len(answer)} bytes")


@contextmanager
def watch_latency(stage: Stage, name: str) -> Iterator[None]:
    """Ask the control planes for ApiVersions all the while; the round trips (ms) go into the facts under `name`."""
    stop = threading.Event()
    found: list[float] = []

    def ask(node_id: int) -> None:
        frame = _api_versions()
        with _connected(stage, node_id) as sock:
            while not stop.wait(0.02):
                started = time.perf_counter()
                sock.sendall(frame)
                _read_frame(sock)
                found.append((time.perf_counter() - started) * 1000)

    threads = [threading.Thread(target=ask, args=(node_id,), daemon=True) for node_id in stage.cluster.brokers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(5)
        stage.facts.setdefault("control_latency_ms", {})[name] = sorted(found)


def _frame(api_key: ApiKey, version: int, body: bytes) -> bytes:
    request = encode_request_header(api_key, version, 1, "demo-control") + body
    return struct.pack(">i", len(request)) + request


def _api_versions() -> bytes:
    body = ApiVersionsRequest(client_software_name="demo", client_software_version="1").encode(3)
    return _frame(ApiKey.API_VERSIONS, 3, body)


def _connected(stage: Stage, node_id: int) -> socket.socket:
    host, _, port = stage.cluster.brokers[node_id].address("CONTROL").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def _exchange(stage: Stage, node_id: int, frame: bytes) -> bytes:
    with _connected(stage, node_id) as sock:
        sock.sendall(frame)
        return _read_frame(sock)


def _read_frame(sock: socket.socket) -> bytes:
    """One frame with its size; b"" when the peer closed instead."""
    data = b""
    try:
        while len(data) < 4 or len(data) < 4 + struct.unpack(">i", data[:4])[0]:
            piece = sock.recv(65_536)
            if not piece:
                return b""
            data += piece
    except ConnectionResetError:
        return b""
    return data
