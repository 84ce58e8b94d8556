"""One inbound connection: receives frames, submits requests, sends responses, strictly in order.

On the data plane the fast path gets a frame first. A frame that it does not process is decoded: the header is checked
against the versions served on the listener, and the request is submitted to the plane's sink. The connection is muted
until the request is answered, so a connection never has two requests in progress. A frame that is not a request closes
only this connection. Before authentication, frames go to `authentication.py` instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from signalbox.common.audit_event import AuditEvent, AuditKind
from signalbox.common.file_slice import FileSlice
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.headers import RequestHeader, decode_request_header
from signalbox.security.request_context import RequestContext
from signalbox.security.sasl.sasl_server import illegal_sasl_state
from signalbox.transport.buffer_pool import PooledBuffer
from signalbox.transport.frame_channel import Chunk, FrameChannel

if TYPE_CHECKING:
    from signalbox.network.listeners.listener import Listener
    from signalbox.network.sasl.authentication import Authentication

_API_VERSIONS = int(ApiKey.API_VERSIONS)
SASL_APIS = (int(ApiKey.SASL_HANDSHAKE), int(ApiKey.SASL_AUTHENTICATE))


class InboundRequest:
    """One request as the broker gets it: header, frame, request context, and methods to respond.

    `frame` is the complete request without its 4-byte size; the body starts at `body_offset`. `received_at` is in
    monotonic seconds. The request ends with exactly one call of `respond`, `respond_nothing`, `close_connection` or
    `reject`; after the connection is closed they do nothing.

    The frame is kept byte for byte: a forwarded request is sent in its Envelope exactly as it was received (F3). It is
    writable (storage patches base offsets in place) and valid until the request is answered."""

    __slots__ = ("body_offset", "connection", "context", "frame", "header", "received_at")

    def __init__(
        self,
        connection: Connection,
        header: RequestHeader,
        frame: memoryview,
        body_offset: int,
        received_at: float,
    ) -> None:
        self.connection = connection
        self.context: RequestContext = connection.context
        self.header = header
        self.frame = frame
        self.body_offset = body_offset
        self.received_at = received_at

    def respond(self, chunks: Sequence[Chunk]) -> None:
        """Send `chunks`, which begin with the response header, and let the connection read the next request."""
        self.connection.finish(self, chunks)

    def throttle(self, milliseconds: int) -> None:
        """Call it before the response: after the response the connection is not read for this time (KIP-219)."""
        self.connection.throttle(milliseconds / 1000)

    def respond_nothing(self) -> None:
        """The request gets no response (Produce with acks=0)."""
        self.connection.finish(self, None)

    def close_connection(self, reason: str) -> None:
        """Close the connection instead of a response: the client must reconnect. Earlier responses are still sent."""
        self.connection.channel.close_after_flush(reason)
        self.connection.abandon(self)

    def reject(self, reason: str) -> None:
        """The frame is not a valid request: count and log it, and close the connection."""
        self.connection.reject("garbled", reason, self.header)
        self.connection.abandon(self)


class Connection:
    """`request_templates` belongs to the fast path: the request templates of this connection."""

    __slots__ = (
        "_buffer",
        "_deferred",
        "_plane",
        "_request",
        "_sink",
        "_throttle_s",
        "_try_fast_path",
        "_versions",
        "authentication",
        "channel",
        "context",
        "established",
        "fast_path",
        "last_header",
        "listener",
        "opened_at",
        "request_templates",
    )  # fmt: skip

    def __init__(self, listener: Listener, channel: FrameChannel, context: RequestContext) -> None:
        self.listener = listener
        self.channel = channel
        self.context = context
        self.fast_path = listener.fast_path
        self._try_fast_path = listener.fast_path.try_frame if listener.fast_path is not None else None
        self.request_templates: object = None
        self.established = False
        self.authentication: Authentication | None = None
        self.opened_at = channel.active_at
        self.last_header: RequestHeader | None = None
        self._versions = listener.served_versions
        self._sink = listener.sink
        self._plane = listener.plane
        self._buffer: PooledBuffer | None = None
        self._deferred = False
        self._request: InboundRequest | None = None
        self._throttle_s = 0.0

    @property
    def connection_id(self) -> str:
        return self.context.connection_id

    @property
    def busy(self) -> bool:
        """Whether a request of this connection is not answered yet."""
        return self._request is not None or self._deferred

    # -- used by the fast path

    def respond(self, chunks: Sequence[Chunk]) -> None:
        """Send the response to the frame that the fast path has processed."""
        self.channel.send_frame(chunks)
        if self._deferred:
            self.respond_nothing()

    def serves(self, api_key: int, api_version: int) -> bool:
        """Whether the listener serves this version of the API."""
        lowest, highest = self._versions.get(api_key, (1, 0))
        return lowest <= api_version <= highest

    def respond_framed(self, frame: bytes) -> None:
        """Like `respond`, with one chunk that already begins with its 4-byte size: the cheapest way."""
        self.channel.send_framed(frame)
        if self._deferred:
            self.respond_nothing()

    def respond_slice(self, head: bytes, records: FileSlice, tail: bytes) -> None:
        """Like `respond`, with a slice of a file between `head`, which begins with the size of the complete response,
        and `tail`."""
        self.channel.send_slice(head, records, tail)
        if self._deferred:
            self.respond_nothing()

    def respond_nothing(self) -> None:
        """The deferred frame gets no response; read the next frame."""
        self._deferred = False
        self._release()
        self.channel.unmute()

    def defer(self) -> None:
        """The fast path will respond later: read nothing more until then."""
        self._deferred = True
        self.channel.mute()

    # -- requests

    def on_frame(self, frame: memoryview, buffer: PooledBuffer | None) -> None:
        """A complete frame of an authenticated peer."""
        self._plane.requests += 1
        self._buffer = buffer
        try_frame = self._try_fast_path
        if try_frame is not None and try_frame(self, frame):
            if buffer is not None and not self._deferred:
                self._release()
            return
        if buffer is None:
            frame = memoryview(bytearray(frame))
        try:
            header, body_offset = decode_request_header(frame)
        except DecodeError as error:
            self.reject("garbled", f"the header cannot be read: {error}", None)
            return
        self.last_header = header
        key, version = header.api_key, header.api_version
        lowest, highest = self._versions.get(key, (1, 0))
        if lowest <= version <= highest or key == _API_VERSIONS:
            self._request = request = InboundRequest(self, header, frame, body_offset, self.channel.active_at)
            self._sink.submit(request)
            if self._request is not None:
                self.channel.mute()
        elif key in SASL_APIS:
            self._late_sasl_request(header, frame, body_offset)
        else:
            self.reject(*self.listener.reason_not_served(header, self.context.client_address), header)

    def submit(self, header: RequestHeader, frame: memoryview, body_offset: int) -> None:
        """Submit a request that came before authentication (ApiVersions)."""
        self.last_header = header
        self._request = InboundRequest(self, header, frame, body_offset, self.channel.active_at)
        self._sink.submit(self._request)
        if self._request is not None:
            self.channel.mute()

    def finish(self, request: InboundRequest, chunks: Sequence[Chunk] | None) -> None:
        """`request` is answered; called by the request itself."""
        if self._request is not request:
            if self.channel.closed:
                return
            raise RuntimeError(f"{request.header} on {self.connection_id} was answered twice")
        self._request = None
        channel = self.channel
        if chunks is not None:
            channel.send_frame(chunks)
        if self._buffer is not None:
            self._release()
        if self._throttle_s:
            self._pause_reading()
        elif channel.muted:
            channel.unmute()

    def abandon(self, request: InboundRequest) -> None:
        """`request` gets no response because the connection is closed; releases the request and its buffer."""
        if self._request is request:
            self._request = None
            if self._buffer is not None:
                self._release()

    def throttle(self, seconds: float) -> None:
        """Read nothing for `seconds` after the response to the current request (KIP-219)."""
        self._throttle_s = seconds

    def _pause_reading(self) -> None:
        self._deferred = True  # busy, so that the connection does not count as idle
        self.channel.mute()
        asyncio.get_running_loop().call_later(self._throttle_s, self._resume_reading)
        self._throttle_s = 0.0

    def _resume_reading(self) -> None:
        self._deferred = False
        if not self.channel.closed:
            self.channel.unmute()

    # -- closing

    def close(self, reason: str) -> None:
        """Close now; queued responses are discarded."""
        self.channel.close(reason)

    def on_closed(self) -> None:
        """The channel is closed. A request that is still in progress keeps its frame's buffer until it ends."""
        if not self.busy:
            self._release()
        if self.authentication is not None:
            self.authentication.end()
            self.authentication = None  # breaks the reference cycle: both objects are freed at once
        if self.fast_path is not None:
            self.fast_path.forget(self)

    def reject(self, kind: str, reason: str, header: RequestHeader | None, *, denied: bool = False) -> None:
        """Count and log the rejection, then close this connection after the responses to earlier requests."""
        self.note_rejection(kind, reason, header, denied=denied)
        self.channel.close_after_flush(reason)

    def note_rejection(self, kind: str, reason: str, header: RequestHeader | None, *, denied: bool = False) -> None:
        """Count, log and audit a rejection. `denied`: its reason is the peer's identity, not the content it sent."""
        context = self.context
        header = header or self.last_header
        row = API_TABLE.get(header.api_key) if header else None
        event = AuditEvent(
            kind=AuditKind.DENIED if denied else AuditKind.REJECTED,
            listener=context.listener_name,
            plane=self.listener.plane.name,
            connection_id=context.connection_id,
            client_address=context.client_address,
            client_id=(header.client_id or "") if header else "",
            client_software=context.client_software,
            principal=str(context.principal),
            api=(row.name if row else f"api {header.api_key}") if header else "",
            api_version=header.api_version if header else -1,
            correlation_id=header.correlation_id if header else -1,
            reason=reason,
        )
        self.listener.plane.rejected_requests += 1
        self.listener.rejections.note(kind, event)

    def _late_sasl_request(self, header: RequestHeader, frame: memoryview, body_offset: int) -> None:
        """A SASL request after authentication: starts a re-authentication if the session expires, else it is answered
        with ILLEGAL_SASL_STATE (34)."""
        if self._buffer is not None:
            self._release()
        row = API_TABLE[header.api_key]
        if not row.min_version <= header.api_version <= row.max_version:
            self.reject("unsupported_version", f"{row.name} version {header.api_version}", header)
        elif self.authentication is not None:
            self.authentication.on_late_request(header, frame, body_offset)
        else:
            self.channel.send_frame((illegal_sasl_state(header),))

    def _release(self) -> None:
        buffer, self._buffer = self._buffer, None
        if buffer is not None:
            self.channel.release_buffer(buffer)
