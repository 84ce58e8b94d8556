"""One connection to one broker: any protocol message out, its answer back, in asyncio.

Requests are pipelined and answered in order; every request has a deadline, and a deadline that passes closes the
connection, because the answers behind it can no longer be trusted to come. Nothing here retries: whoever owns the
connection decides what a failure means. Host names are resolved on every connect (KIP-302, KAFKA-12193).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

from signalbox.client.api_ranges import ApiRanges
from signalbox.client.connection_settings import ConnectionSettings
from signalbox.client.failures import ClientFailure, ConnectFailed, ConnectionLost, PeerBroke
from signalbox.client.frame_guard import frame_length
from signalbox.client.handshake import handshake
from signalbox.client.node import Address, Identity
from signalbox.client.wire_frames import Chunk, api_key_of, decode_response, encode_request
from signalbox.protocol.api_table import API_TABLE


class _Waiting:
    """A request on the wire: what answers it and when its time is up."""

    __slots__ = ("answered", "correlation_id", "timer")

    def __init__(self, correlation_id: int, answered: asyncio.Future[Chunk]) -> None:
        self.correlation_id = correlation_id
        self.answered = answered
        self.timer: asyncio.TimerHandle | None = None


class _FrameStream(asyncio.Protocol):
    """Bytes in, payloads matched with requests in the order they were sent."""

    def __init__(self, address: Address, max_frame_bytes: int) -> None:
        self.address = address
        self.max_frame_bytes = max_frame_bytes
        self.loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[ClientFailure] = self.loop.create_future()
        self.waiting: deque[_Waiting] = deque()
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        start = 0
        while len(received) - start >= 4:
            try:
                length = frame_length(received[start : start + 4], self.max_frame_bytes)
            except ValueError as error:
                self.fail(PeerBroke(self.address, "frame", str(error)))
                return
            if len(received) - start - 4 < length:
                break
            self._answer(bytes(received[start + 4 : start + 4 + length]))
            start += 4 + length
        if start:
            del received[:start]

    def _answer(self, payload: bytes) -> None:
        if not self.waiting:
            self.fail(PeerBroke(self.address, "frame", "an answer that nobody asked for"))
            return
        correlation_id = int.from_bytes(payload[:4], "big", signed=True)
        waiting = self.waiting[0]
        if waiting.correlation_id != correlation_id:
            text = f"answered request {correlation_id} when request {waiting.correlation_id} was due"
            self.fail(PeerBroke(self.address, "frame", text))
            return
        self.waiting.popleft()
        if waiting.timer is not None:
            waiting.timer.cancel()
        if not waiting.answered.done():
            waiting.answered.set_result(payload)

    def send(self, chunks: list[Chunk], correlation_id: int, timeout_ms: float) -> asyncio.Future[Chunk]:
        """Put one request on the wire; the future gets the response payload."""
        waiting = _Waiting(correlation_id, self.loop.create_future())
        if self._transport is None or self.closed.done():
            waiting.answered.set_exception(self._gone())
            return waiting.answered
        self.waiting.append(waiting)
        waiting.timer = self.loop.call_later(timeout_ms / 1000, self._overdue, correlation_id, timeout_ms)
        size = sum(map(len, chunks))
        if size < 65_536:
            self._transport.write(b"".join((size.to_bytes(4, "big"), *chunks)))
        else:
            self._transport.writelines([size.to_bytes(4, "big"), *chunks])
        return waiting.answered

    def _overdue(self, correlation_id: int, timeout_ms: float) -> None:
        self.fail(ConnectionLost(self.address, f"no answer to request {correlation_id} within {timeout_ms:.0f} ms"))

    def _gone(self) -> ClientFailure:
        return self.closed.result() if self.closed.done() else ConnectionLost(self.address, "not connected")

    def connection_lost(self, error: Exception | None) -> None:
        self.fail(ConnectionLost(self.address, str(error) if error else "closed by the broker"))

    def fail(self, failure: ClientFailure) -> None:
        """End the connection: everything on it fails with `failure`. Only the first reason counts."""
        if self.closed.done():
            return
        self.closed.set_result(failure)
        if self._transport is not None:
            self._transport.abort()
        for waiting in self.waiting:
            if waiting.timer is not None:
                waiting.timer.cancel()
            if not waiting.answered.done():
                waiting.answered.set_exception(failure)
                waiting.answered.exception()  # the caller may be gone: then nobody retrieves it, and that is fine
        self.waiting.clear()
        self._received.clear()


class ClientConnection:
    """A ready connection. Made by `connect`; when it has closed it stays closed, make another."""

    def __init__(self, stream: _FrameStream, settings: ConnectionSettings, identity: Identity | None) -> None:
        self._stream = stream
        self._settings = settings
        self._correlation_id = 0
        self.identity = identity
        self.address = stream.address
        self.api_ranges = ApiRanges({})
        self.verified = False

    @property
    def is_open(self) -> bool:
        return not self._stream.closed.done()

    @property
    def in_flight(self) -> int:
        """Requests on the wire."""
        return len(self._stream.waiting)

    @property
    def failure(self) -> ClientFailure | None:
        """Why it closed."""
        return self._stream.closed.result() if self._stream.closed.done() else None

    def on_closed(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the connection has ended, whoever ended it; `failure` says why."""
        self._stream.closed.add_done_callback(lambda _: callback())

    def version_for(self, request: Any, max_version: int | None = None) -> int:
        """The version `request` would be sent at; VersionUnsupported when there is none."""
        return self.api_ranges.version_for(api_key_of(request), max_version)

    async def request(
        self,
        message: Any,
        *,
        version: int | None = None,
        max_version: int | None = None,
        timeout_ms: float | None = None,
    ) -> Any:
        """The answer to `message`, at a fixed `version` or the highest common one (at most `max_version`).

        ConnectionLost or PeerBroke when the connection ends first; the deadline ends it.
        """
        if version is None:
            version = self.version_for(message, max_version)
        payload = await self.send(message, version, timeout_ms)
        response = API_TABLE[api_key_of(message)].response
        try:
            return decode_response(response, payload, version)
        except ValueError as error:
            failure = PeerBroke(self.address, "frame", f"unreadable {response.__name__}: {error}")
            self._stream.fail(failure)
            raise failure from error

    def send(self, message: Any, version: int, timeout_ms: float | None = None) -> asyncio.Future[Chunk]:
        """Put `message` on the wire now; the future gets the undecoded response payload."""
        correlation_id = self._correlation_id
        self._correlation_id = (correlation_id + 1) & 0x7FFF_FFFF
        chunks = encode_request(message, version, correlation_id, self._settings.client_id)
        return self._stream.send(chunks, correlation_id, timeout_ms or self._settings.request_timeout_ms)

    def close(self, reason: str = "closed by us") -> None:
        """End the connection; requests on it fail with ConnectionLost."""
        self._stream.fail(ConnectionLost(self.address, reason))

    async def shake_hands(self) -> None:
        """ApiVersions and SASL, before anything else is sent."""
        exchange = handshake(self.address, self._settings, self.identity)
        payload = next(exchange)
        while True:
            correlation_id = int.from_bytes(payload[4:8], "big", signed=True)
            answer = await self._stream.send([payload], correlation_id, self._settings.request_timeout_ms)
            try:
                payload = exchange.send(answer)
            except StopIteration as stop:
                self.api_ranges = stop.value.api_ranges
                self.verified = stop.value.verified
                self._correlation_id = stop.value.correlation_id
                self._stream.max_frame_bytes = self._settings.max_frame_bytes
                return


async def connect(
    address: Address,
    settings: ConnectionSettings,
    identity: Identity | None = None,
    resolved: list[str] | None = None,
) -> ClientConnection:
    """A connection that has shaken hands with whoever answers at `address`, all within the connect timeout.

    `resolved` replaces asking the name server. ConnectFailed and its kinds (Misrouted, AuthenticationRefused,
    PeerBroke) say how far it got.
    """
    stream: _FrameStream | None = None
    try:
        async with asyncio.timeout(settings.connect_timeout_ms / 1000):
            ips = resolved if resolved is not None else await resolve(address)
            stream = await _open_stream(address, ips, settings)
            connection = ClientConnection(stream, settings, identity)
            await connection.shake_hands()
            return connection
    except TimeoutError:
        stage = "api-versions" if stream is not None else "tcp"
        failure = ConnectFailed(address, stage, f"no answer within {settings.connect_timeout_ms} ms")
        if stream is not None:
            stream.fail(failure)
        raise failure from None
    except BaseException as error:
        if stream is not None:
            lost = error if isinstance(error, ClientFailure) else ConnectionLost(address, "given up")
            stream.fail(lost)
        if isinstance(error, ConnectionLost):
            raise ConnectFailed(address, "api-versions", error.reason) from error
        raise


async def resolve(address: Address) -> list[str]:
    """The IP addresses behind a host name, as the name server has them now; ConnectFailed when it has none."""
    if _is_ip_literal(address.host):
        return [address.host]
    try:
        found = await asyncio.get_running_loop().getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConnectFailed(address, "resolve", f"{address.host} cannot be resolved: {error.strerror}") from error
    return list(dict.fromkeys(str(row[4][0]) for row in found))


def _is_ip_literal(host: str) -> bool:
    try:
        ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


async def _open_stream(address: Address, ips: list[str], settings: ConnectionSettings) -> _FrameStream:
    """TCP (and TLS) to each of the host's addresses until one answers."""
    security = settings.security
    server_name = None
    if security.ssl_context is not None:
        server_name = security.server_name or address.host
    last = ConnectFailed(address, "resolve", f"{address.host} has no address")
    for ip in ips:
        try:
            _, stream = await asyncio.get_running_loop().create_connection(
                lambda: _FrameStream(address, settings.max_handshake_frame_bytes),
                ip,
                address.port,
                ssl=security.ssl_context,
                server_hostname=server_name,
            )
        except ssl.SSLError as error:
            last = ConnectFailed(address, "tls", str(error))
        except OSError as error:
            last = ConnectFailed(address, "tcp", f"{ip}: {error.strerror or error}")
        else:
            return stream
    raise last
