"""A socket server on loopback with a request sink for tests: network tests connect to it."""

from __future__ import annotations

import asyncio
import socket
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from signalbox.common.audit_event import AuditEvent, AuditKind
from signalbox.common.metrics import Histogram, MetricName, NullMetrics
from signalbox.network.acceptors.socket_server import SocketServer
from signalbox.network.connection import Connection, InboundRequest
from signalbox.network.listeners.listener_security import ListenerSecurity, build_security
from signalbox.network.listeners.listener_table import ListenerTable, read_listener_table
from signalbox.network.listeners.network_settings import NetworkSettings, read_network_settings
from signalbox.network.ports import FastPath, NetworkPorts
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.headers import encode_request_header, encode_response_header
from signalbox.security.principal import DefaultPrincipalBuilder, PrincipalBuilder
from signalbox.security.sasl.scram import NoCredentials, ScramCredentials
from signalbox.transport.data_loop import DataLoop
from tests.transport.loopback import framed, read_frame

Properties = Mapping[str, str]


def configured(given: Properties) -> tuple[ListenerTable, NetworkSettings]:
    """Table and settings of a valid configuration."""
    table, faults = read_listener_table(given)
    assert not faults, faults
    assert table is not None
    settings, more = read_network_settings(given, [row.name for row in table])
    assert not more, more
    return table, settings


EVERY_API = {row.key: (row.min_version, row.max_version) for row in API_TABLE.values()}
"""Served versions: every API of the table at every version."""


class EchoSink:
    """Responds with the request's body after a response header; keeps the requests that `holds` selects for later."""

    def __init__(self, holds: Callable[[InboundRequest], bool] = lambda _: False) -> None:
        self.holds = holds
        self.seen: list[InboundRequest] = []
        self.held: asyncio.Queue[InboundRequest] = asyncio.Queue()

    def submit(self, request: InboundRequest) -> None:
        self.seen.append(request)
        if self.holds(request):
            self.held.put_nowait(request)
        else:
            self.echo(request)

    @staticmethod
    def echo(request: InboundRequest) -> None:
        header = request.header
        head = encode_response_header(header.api_key, header.api_version, header.correlation_id)
        request.respond([head, bytes(request.frame[request.body_offset :])])


@dataclass
class AuditRecorder:
    """An audit sink and metrics that can be read."""

    events: list[AuditEvent] = field(default_factory=list)
    counts: dict[tuple[str, ...], float] = field(default_factory=dict)
    gauges: dict[str, Callable[[], float]] = field(default_factory=dict)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def record(self, event: AuditEvent) -> None:
        self.events.append(event)
        self.arrived.set()

    def of(self, kind: AuditKind) -> list[AuditEvent]:
        return [event for event in self.events if event.kind is kind]

    async def until(self, kind: AuditKind, count: int = 1) -> list[AuditEvent]:
        while len(self.of(kind)) < count:
            self.arrived.clear()
            await self.arrived.wait()
        return self.of(kind)


class CountingMetrics(NullMetrics):
    def __init__(self, recorder: AuditRecorder) -> None:
        self._recorder = recorder

    def counter(self, name: MetricName, tags: Mapping[str, str] | None = None) -> _Count:
        return _Count(self._recorder.counts, _key(name, tags))

    def counter_from(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        self._recorder.gauges[name.name + (tags or {}).get("plane", "")] = read

    def histogram(self, name: MetricName, tags: Mapping[str, str] | None = None, window: int = 0) -> _Recorded:
        return _Recorded(self._recorder.counts, _key(name, tags))

    def gauge(self, name: MetricName, read: Callable[[], float], tags: Mapping[str, str] | None = None) -> None:
        self._recorder.gauges[name.name + (tags or {}).get("plane", "")] = read

    def remove(self, name: MetricName, tags: Mapping[str, str] | None = None) -> None:
        self._recorder.gauges.pop(name.name, None)


def _key(name: MetricName, tags: Mapping[str, str] | None) -> tuple[str, ...]:
    return (name.name, *(value for tag, value in (tags or {}).items() if tag != "networkProcessor"))


@dataclass
class _Count:
    counts: dict[tuple[str, ...], float]
    key: tuple[str, ...]

    def add(self, amount: float = 1) -> None:
        self.counts[self.key] = self.counts.get(self.key, 0) + amount


class _Recorded(Histogram):
    def __init__(self, counts: dict[tuple[str, ...], float], key: tuple[str, ...]) -> None:
        super().__init__()
        self._counts = counts
        self._key = key

    def record(self, value: float) -> None:
        self._counts[self._key] = value


class Watcher:
    def __init__(self) -> None:
        self.open: list[Connection] = []
        self.ended: asyncio.Queue[str] = asyncio.Queue()
        self.failed: asyncio.Queue[str] = asyncio.Queue()  # the connections that were never established

    def opened(self, connection: Connection) -> None:
        self.open.append(connection)

    def closed(self, connection: Connection, reason: str) -> None:
        self.ended.put_nowait(reason)

    def setup_failed(self, connection: Connection) -> None:
        self.failed.put_nowait(connection.connection_id)


@dataclass
class Served:
    """A running server and what it records."""

    server: SocketServer
    loop: DataLoop
    ports: dict[str, int]
    sink: EchoSink
    recorder: AuditRecorder
    watcher: Watcher

    def authentications(self, listener: str) -> dict[str, float]:
        """The values of Kafka's socket-server-metrics for a listener, by name."""
        counts = {name[0]: value for name, value in self.recorder.counts.items() if name[1:] == (listener,)}
        return defaultdict(float, counts)

    async def dial(self, listener: str = "PLAINTEXT") -> Dialled:
        sock = socket.socket()
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.ports[listener]))
        return Dialled(sock)


class Dialled:
    """A raw client."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._correlation_id = 0

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.sock, data)

    def request(self, api_key: ApiKey, version: int, body: bytes = b"") -> bytes:
        """A framed request with the next correlation id."""
        self._correlation_id += 1
        return framed(encode_request_header(int(api_key), version, self._correlation_id, "raw") + body)

    async def ask(self, api_key: ApiKey, version: int, body: bytes = b"") -> bytes:
        """The frame of the response."""
        await self.send(self.request(api_key, version, body))
        return await self.answer()

    async def answer(self) -> bytes:
        return await read_frame(self.sock)

    async def ended(self) -> bool:
        """Waits until the server closes the connection; data that arrives before is discarded."""
        loop = asyncio.get_running_loop()
        try:
            while await loop.sock_recv(self.sock, 65_536):
                pass
        except ConnectionError:
            pass
        return True

    def close(self) -> None:
        self.sock.close()


@asynccontextmanager
async def serving(
    given: Properties | None = None,
    *,
    sink: EchoSink | None = None,
    fast_path: FastPath | None = None,
    credentials: ScramCredentials | None = None,
    principals: PrincipalBuilder | None = None,
) -> AsyncIterator[Served]:
    """A server with the configuration `given`; listeners should use port 0."""
    table, settings = configured(given or {"listeners": "PLAINTEXT://127.0.0.1:0"})
    security: dict[str, ListenerSecurity]
    security, faults = build_security(table, settings, credentials or NoCredentials())
    assert not faults, faults
    loop = DataLoop(asyncio.get_running_loop())
    recorder, watcher, sink = AuditRecorder(), Watcher(), sink or EchoSink()
    server = SocketServer(
        table,
        settings,
        NetworkPorts(
            request_sink=sink,
            served_versions=EVERY_API,
            fast_path=fast_path,
            watcher=watcher,
            audit=recorder,
            metrics=CountingMetrics(recorder),
            security=security,
            principal_builder=principals or DefaultPrincipalBuilder(),
        ),
        loop,
    )
    ports = await server.start_listening()
    await server.enable()
    try:
        yield Served(server, loop, ports, sink, recorder, watcher)
    finally:
        await server.stop()
        loop.close()
