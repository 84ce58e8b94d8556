"""One connection to one broker: sends any protocol message and returns its response, in asyncio.

Requests are pipelined; every request has a deadline, and the connection is closed when one passes. Nothing here
retries: the owner of the connection decides what to do after a failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from signalbox.client.client_metrics import Traffic
from signalbox.client.connection.connection_settings import ConnectionSettings
from signalbox.client.connection.frame_stream import FrameStream
from signalbox.client.connection.handshake import (
    LEAVING,
    HandshakeResult,
    handshake,
    login_ready,
    seconds_until_session_end,
)
from signalbox.client.connection.node import Address, Identity
from signalbox.client.connection.stream_opener import StreamOpener
from signalbox.client.connection.wire_frames import ApiRanges, Chunk, api_key_of, decode_response, encode_request
from signalbox.client.failures import ClientFailure, ConnectFailed, ConnectionLost, PeerBroke, VersionUnsupported
from signalbox.protocol.api_table import API_TABLE
from signalbox.protocol.codec_errors import EncodeError, StringTooLong, ValueDoesNotFit

_LEAVE_AGAIN_S = 0.05


class ClientConnection:
    """A connection that is ready for requests. Made by `connect`; after it is closed, make another one."""

    def __init__(self, stream: FrameStream, settings: ConnectionSettings, identity: Identity | None) -> None:
        self._stream = stream
        self._settings = settings
        self._correlation_id = 0
        self.identity = identity
        self.address = stream.address
        self.api_ranges = ApiRanges({})
        self.verified = False
        self.leaving = False  # its SASL session ends soon: new requests need another connection

    @property
    def is_open(self) -> bool:
        return not self._stream.closed.done()

    @property
    def in_flight(self) -> int:
        """The number of requests without a response yet."""
        return len(self._stream.waiting)

    @property
    def traffic(self) -> Traffic:
        """What was sent and received, the handshake included."""
        return self._stream.traffic

    @property
    def failure(self) -> ClientFailure | None:
        """Why the connection closed; None while it is open."""
        return self._stream.closed.result() if self._stream.closed.done() else None

    def on_closed(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the connection has ended, whichever side closed it; `failure` has the reason."""
        self._stream.closed.add_done_callback(lambda _: callback())

    def version_for(self, request: Any, max_version: int | None = None) -> int:
        """The version at which `request` would be sent; VersionUnsupported when there is none."""
        return self.api_ranges.version_for(api_key_of(request), max_version)

    async def request(
        self,
        message: Any,
        *,
        version: int | None = None,
        max_version: int | None = None,
        timeout_ms: float | None = None,
    ) -> Any:
        """The response to `message`, at a fixed `version` or the highest common one (at most `max_version`).

        ConnectionLost or PeerBroke when the connection ends first; a passed deadline ends it. VersionUnsupported when
        the version does not have a field that is set.
        """
        if version is None:
            version = self.version_for(message, max_version)
        try:
            response = self.send(message, version, timeout_ms)
        except (StringTooLong, ValueDoesNotFit):
            raise
        except EncodeError as error:
            raise VersionUnsupported(f"the broker does not have what the request needs: {error}") from error
        return self.decode(message, version, await response)

    def decode(self, message: Any, version: int, payload: Chunk) -> Any:
        """The response to `message` from its payload; PeerBroke, which ends the connection, if it is not readable."""
        response = API_TABLE[api_key_of(message)].response
        try:
            return decode_response(response, payload, version)
        except ValueError as error:
            failure = PeerBroke(self.address, "frame", f"unreadable {response.__name__}: {error}")
            self._stream.fail(failure)
            raise failure from error

    def send(self, message: Any, version: int, timeout_ms: float | None = None) -> asyncio.Future[Chunk]:
        """Send `message` now; the future gets the undecoded response payload. EncodeError when a value does not fit, or
        `version` does not have a field that is set."""
        correlation_id = self._correlation_id
        self._correlation_id = (correlation_id + 1) & 0x7FFF_FFFF
        chunks = encode_request(message, version, correlation_id, self._settings.client_id)
        return self._stream.send(chunks, correlation_id, timeout_ms or self._settings.request_timeout_ms)

    def one_write(self) -> AbstractContextManager[None]:
        """What `send` sends inside the block leaves together at its end: the broker reads it at once."""
        return self._stream.one_write()

    def close(self, reason: str = "closed by us") -> None:
        """Close the connection; requests in flight fail with ConnectionLost."""
        self._stream.fail(ConnectionLost(self.address, reason, closed_here=True))

    async def shake_hands(self) -> None:
        """ApiVersions and SASL, before anything else is sent."""
        exchange = handshake(self.address, self._settings, self.identity)
        payload = next(exchange)
        while True:
            correlation_id = int.from_bytes(payload[4:8], "big", signed=True)
            response = await self._stream.send([payload], correlation_id, self._settings.request_timeout_ms)
            try:
                payload = exchange.send(response)
            except StopIteration as stop:
                self._begin(stop.value)
                return

    def _begin(self, result: HandshakeResult) -> None:
        """The connection is ready for requests."""
        self.api_ranges = result.api_ranges
        self.verified = result.verified
        self._correlation_id = result.correlation_id
        self._stream.limit_frames(self._settings.max_frame_bytes)
        if result.session_lifetime_ms > 0:
            stay_s = seconds_until_session_end(result.session_lifetime_ms)
            timer = self._stream.loop.call_later(stay_s, self._leave)
            self._stream.closed.add_done_callback(lambda _: timer.cancel())

    def _leave(self) -> None:
        """Close as soon as no request is in flight."""
        self.leaving = True
        if not self.in_flight:
            self.close(LEAVING)
        elif self.is_open:
            self._stream.loop.call_later(_LEAVE_AGAIN_S, self._leave)


async def connect(
    address: Address,
    settings: ConnectionSettings,
    identity: Identity | None = None,
    resolved: list[str] | None = None,
) -> ClientConnection:
    """A connection to `address` after its handshake, all within the connect timeout.

    `resolved` (IP addresses) replaces the name lookup. ConnectFailed and its subclasses (Misrouted,
    AuthenticationRejected, PeerBroke) have the stage that was reached.
    """
    opener = StreamOpener(address, settings)
    stream: FrameStream | None = None
    try:
        async with asyncio.timeout(settings.connect_timeout_ms / 1000):
            await login_ready(address, settings)
            stream = await opener.dial(resolved)
            connection = ClientConnection(stream, settings, identity)
            await connection.shake_hands()
            return connection
    except BaseException as error:
        failure: BaseException = error
        if isinstance(error, TimeoutError):
            failure = ConnectFailed(address, opener.stage, f"no answer within {settings.connect_timeout_ms} ms")
        elif isinstance(error, ConnectionLost):
            failure = ConnectFailed(address, opener.stage, error.reason)
        if stream is not None:
            stream.fail(failure if isinstance(failure, ClientFailure) else ConnectionLost(address, "cancelled"))
        if failure is error:
            raise
        raise failure from error
