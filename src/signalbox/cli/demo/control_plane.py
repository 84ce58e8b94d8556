"""The control plane: it rejects data requests, and it responds while data is produced on the data plane."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from signalbox.cli.demo.stage import Stage, counted, listing
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.headers import decode_response_header, encode_request_header
from signalbox.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.transport.socket_address import reject_self_connection

_REJECTED = "signalbox_network_socketserver_rejectedrequests_total"
_LISTENER = "CONTROL"
_VERSION = 3
_SLOWEST_MS = 5_000.0
_ADMITTED = {
    *("ApiVersions", "SaslHandshake", "SaslAuthenticate"),
    *("LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown"),
}
"""The APIs that the forced control plane advertises: connection set-up and the four control requests (SPEC C4)."""


def reject_data(stage: Stage) -> None:
    """A Metadata request to the forced control plane: the connection is closed without a response, and the request is
    counted."""
    before = stage.metric(1, _REJECTED, plane="control")
    response = _exchange(stage, 1, _frame(ApiKey.METADATA, 12, MetadataRequest(topics=None).encode(12)))
    seen = "connection closed" if response == b"" else f"{len(response)} bytes of an answer"
    stage.check("a data request on the control plane is not answered", response == b"", seen)
    rejected = stage.metric(1, _REJECTED, plane="control") - before
    stage.check("the broker counted it as rejected", rejected == 1, counted(int(rejected), "request"))
    names = _listed(_exchange(stage, 1, _api_versions()))
    stage.check("the control plane lists set-up and controller requests alone", names == _ADMITTED, listing(names))


def _listed(frame: bytes) -> set[str]:
    """The APIs in a framed ApiVersions response."""
    _, offset = decode_response_header(frame[4:], ApiKey.API_VERSIONS, _VERSION)
    response = ApiVersionsResponse.decode(frame[4:], _VERSION, offset)
    return {API_TABLE[ApiKey(row.api_key)].name for row in response.api_keys}


@contextmanager
def watch_latency(stage: Stage, name: str) -> Iterator[None]:
    """Send ApiVersions to the control planes meanwhile; the round trips (ms) go into the facts under `name`.
    CheckFailed unless every broker responded every time."""
    stop = threading.Event()
    times_by_broker: dict[int, list[float]] = {node_id: [] for node_id in stage.cluster.brokers}
    faults: list[str] = []

    def ask(node_id: int) -> None:
        frame = _api_versions()
        try:
            with _connected(stage, node_id) as sock:
                while not stop.wait(0.02):
                    started = time.perf_counter()
                    sock.sendall(frame)
                    if not _read_frame(sock):
                        raise ConnectionError("it closed the connection")
                    times_by_broker[node_id].append((time.perf_counter() - started) * 1000)
        except OSError as fault:
            faults.append(f"broker {node_id}: {fault}")

    threads = [threading.Thread(target=ask, args=(node_id,), daemon=True) for node_id in stage.cluster.brokers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(_SLOWEST_MS / 1000)
    times = sorted(time_ms for broker_times in times_by_broker.values() for time_ms in broker_times)
    stage.facts.setdefault("control_latency_ms", {})[name] = times
    silent = [f"broker {node_id}: no answer" for node_id, broker_times in times_by_broker.items() if not broker_times]
    problems = [*faults, *silent]
    is_fast = not problems and times[-1] < _SLOWEST_MS
    seen = "; ".join(problems) or f"{counted(len(times), 'answer')}, slowest {times[-1]:.1f} ms"
    stage.check(f"the control plane of every broker answered, {name}", is_fast, seen)


def _frame(api_key: ApiKey, version: int, body: bytes) -> bytes:
    request = encode_request_header(api_key, version, 1, "demo-control") + body
    return struct.pack(">i", len(request)) + request


def _api_versions() -> bytes:
    body = ApiVersionsRequest(client_software_name="demo", client_software_version="1").encode(_VERSION)
    return _frame(ApiKey.API_VERSIONS, _VERSION, body)


def _connected(stage: Stage, node_id: int) -> socket.socket:
    host, _, port = stage.cluster.brokers[node_id].address(_LISTENER).rpartition(":")
    sock = socket.create_connection((host, int(port)), timeout=10)
    reject_self_connection(sock)
    return sock


def _exchange(stage: Stage, node_id: int, frame: bytes) -> bytes:
    with _connected(stage, node_id) as sock:
        sock.sendall(frame)
        return _read_frame(sock)


def _read_frame(sock: socket.socket) -> bytes:
    """One frame with its size; b"" if the peer closed the connection."""
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
