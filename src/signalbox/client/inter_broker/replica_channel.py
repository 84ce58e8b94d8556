"""Replica fetcher → leader: a connection in the data loop, driven by callbacks, without a task or future per request.

At replication factor 3, two thirds of all bytes that a broker receives arrive here. So the data loop reads these frames
beside those of clients, and responses are decoded in place: `on_response` must not use the records after it returns.
The handshake is that of every outbound connection; identity is sent, and 129 means a wrong route to that broker (R2),
never a rebootstrap. Nothing here retries: the fetcher opens another channel.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from math import inf
from typing import Any

from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.handshake import (
    LEAVING,
    Exchange,
    HandshakeResult,
    handshake,
    login_ready,
    seconds_until_session_end,
)
from signalbox.client.connection.node import Address, Identity
from signalbox.client.connection.stream_opener import tls_failed
from signalbox.client.connection.wire_frames import ApiRanges, decode_response, encode_request
from signalbox.client.failures import ClientFailure, ConnectFailed, ConnectionLost, PeerBroke
from signalbox.protocol.api_table import API_TABLE
from signalbox.transport.buffer_pool import PooledBuffer
from signalbox.transport.connect import connect_data_channel
from signalbox.transport.data_channel import DataChannel
from signalbox.transport.data_loop import DataLoop
from signalbox.transport.tls.tls_failure import TlsFailed

ResponseCallback = Callable[[Any], None]
ClosedCallback = Callable[[ClientFailure], None]
_RequestInFlight = tuple[int, int, Any, ResponseCallback, asyncio.TimerHandle]


class ReplicaChannel:
    """An open channel. `on_closed` is called once, with the reason, unless the owner closed it."""

    def __init__(self, channel: DataChannel, address: Address, settings: ConnectionSettings) -> None:
        self.address = address
        self.api_ranges = ApiRanges({})
        self.verified = False
        self.on_closed: ClosedCallback | None = None
        self._channel = channel
        channel.carry_replication()
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._correlation_id = 0
        self._in_flight: deque[_RequestInFlight] = deque()
        self._failure: ClientFailure | None = None
        self._leave_at = inf

    @property
    def is_open(self) -> bool:
        return not self._channel.closed

    @property
    def in_flight(self) -> int:
        return len(self._in_flight)

    def version_for(self, api_key: int, max_version: int | None = None) -> int:
        """The highest common version of an API; VersionUnsupported when there is none."""
        return self.api_ranges.version_for(api_key, max_version)

    def send(self, message: Any, version: int, on_response: ResponseCallback, timeout_ms: float | None = None) -> None:
        """Send `message`; `on_response` gets the decoded response, whose records are valid during the call only.

        A response that does not arrive in time closes the channel. On a closed channel the call does nothing: the
        owner knows from `on_closed`.
        """
        if self._channel.closed:
            return
        if not self._in_flight and self._loop.time() >= self._leave_at:
            self._loop.call_soon(self._fail, ConnectionLost(self.address, LEAVING))
            return
        correlation_id = self._correlation_id
        self._correlation_id = (correlation_id + 1) & 0x7FFF_FFFF
        chunks = encode_request(message, version, correlation_id, self._settings.client_id)
        after = (timeout_ms or self._settings.request_timeout_ms) / 1000
        timer = self._loop.call_later(after, self._overdue, after)
        response = API_TABLE[message.api_key].response
        self._in_flight.append((correlation_id, version, response, on_response, timer))
        self._channel.send_frame(chunks)

    def close(self, reason: str = "closed by us") -> None:
        """Close the channel; callbacks of requests in flight are not called any more."""
        self.on_closed = None
        self._channel.close(reason)

    def _overdue(self, seconds: float) -> None:
        self._fail(ConnectionLost(self.address, f"no answer within {seconds * 1000:.0f} ms"))

    def _fail(self, failure: ClientFailure) -> None:
        self._failure = failure
        self._channel.close(str(failure))

    def _closed(self, reason: str) -> None:
        for request in self._in_flight:
            request[4].cancel()
        self._in_flight.clear()
        on_closed, self.on_closed = self.on_closed, None
        if on_closed is not None:
            on_closed(self._failure or ConnectionLost(self.address, reason))

    def _on_frame(self, frame: memoryview, buffer: PooledBuffer | None) -> None:
        try:
            self._answer(frame)
        except ValueError as error:
            self._fail(PeerBroke(self.address, "frame", f"unreadable answer: {error}"))
        finally:
            if buffer is not None:
                self._channel.release_buffer(buffer)

    def _answer(self, frame: memoryview) -> None:
        if not self._in_flight:
            raise ValueError("a response without a request")
        correlation_id, version, response, on_response, timer = self._in_flight.popleft()
        timer.cancel()
        received_id = int.from_bytes(frame[:4], "big", signed=True)
        if received_id != correlation_id:
            raise ValueError(f"Correlation id for response ({received_id}) does not match request ({correlation_id})")
        on_response(decode_response(response, frame, version))

    async def shake_hands(self, identity: Identity | None) -> None:
        """ApiVersions and SASL; afterwards the channel is ready."""
        done: asyncio.Future[HandshakeResult] = self._loop.create_future()
        exchange = handshake(self.address, self._settings, identity)

        def on_closed(reason: str) -> None:
            if not done.done():
                done.set_exception(ConnectFailed(self.address, "api-versions", reason))

        def on_frame(frame: memoryview, buffer: PooledBuffer | None) -> None:
            if not done.done():
                _advance(exchange, bytes(frame), done, self._channel)
            if buffer is not None:
                self._channel.release_buffer(buffer)

        self._channel.on_frame, self._channel.on_closed = on_frame, on_closed
        self._channel.send_frame([next(exchange)])
        result = await done
        self.api_ranges, self.verified = result.api_ranges, result.verified
        self._correlation_id = result.correlation_id
        if result.session_lifetime_ms > 0:
            self._leave_at = self._loop.time() + seconds_until_session_end(result.session_lifetime_ms)
        self._channel.max_frame_bytes = self._settings.max_frame_bytes
        self._channel.on_frame, self._channel.on_closed = self._on_frame, self._closed


def _advance(exchange: Exchange, response: bytes, done: asyncio.Future[HandshakeResult], channel: DataChannel) -> None:
    try:
        channel.send_frame([exchange.send(response)])
    except StopIteration as stop:
        done.set_result(stop.value)
    except ClientFailure as failure:
        done.set_exception(failure)


async def open_replica_channel(
    data_loop: DataLoop, address: Address, settings: ConnectionSettings, identity: Identity | None = None
) -> ReplicaChannel:
    """A channel in `data_loop` after its handshake, within the connect timeout; ConnectFailed and its subclasses."""
    channel: DataChannel | None = None
    try:
        async with asyncio.timeout(settings.connect_timeout_ms / 1000):
            await login_ready(address, settings)
            channel = await connect_data_channel(
                data_loop,
                address.host,
                address.port,
                ssl_context=None if settings.security.tls is None else settings.security.tls.context,
                timeout_ms=settings.connect_timeout_ms,
                max_frame_bytes=settings.max_handshake_frame_bytes,
            )
            replica_channel = ReplicaChannel(channel, address, settings)
            await replica_channel.shake_hands(identity)
            return replica_channel
    except BaseException as error:
        if channel is not None:
            channel.close("the connection attempt was cancelled")
        if isinstance(error, TimeoutError):
            text = f"no answer within {settings.connect_timeout_ms} ms"
            raise ConnectFailed(address, "tcp" if channel is None else "api-versions", text) from None
        if isinstance(error, TlsFailed):
            raise tls_failed(address, settings.security, error) from error
        if isinstance(error, OSError):
            raise ConnectFailed(address, "tcp", str(error)) from error
        raise
