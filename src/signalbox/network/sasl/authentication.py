"""Authentication of a connection on a SASL listener, and re-authentication when its session ends (KIP-368).

SASL requests are answered here and never reach the broker. ApiVersions does, a few times, with an unauthenticated
context. Every other request closes the connection. The response to a failed attempt is delayed.

A session that expires (with its token, or by `connections.max.reauth.ms`) may be renewed at any time before, but at
most once a second, by a SaslHandshake on the same connection: same mechanism, same principal. After the expiry the next
request must be that SaslHandshake, or the connection is closed and counted as expired.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeVar
from weakref import WeakMethod

from signalbox.common.log_limiter import LogSource
from signalbox.network.connection import SASL_APIS, Connection
from signalbox.network.listeners.listener import Listener
from signalbox.network.listeners.network_settings import ListenerSettings
from signalbox.network.ports import NetworkPorts
from signalbox.network.sasl.session_end import SessionEnd
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.headers import RequestHeader, decode_request_header
from signalbox.security.principal import (
    ANONYMOUS,
    AuthenticationEvidence,
    KafkaPrincipal,
    PrincipalRejected,
    build_principal,
)
from signalbox.security.sasl.sasl_server import (
    SaslAuthentication,
    SaslResponse,
    SaslServerSession,
    SaslState,
    illegal_sasl_state,
)
from signalbox.security.tls.distinguished_name import distinguished_name
from signalbox.transport.buffer_pool import PooledBuffer

T = TypeVar("T")

REAUTH_KEY = "connections.max.reauth.ms"
_VERSIONS_BEFORE_LOGIN = 3  # Kafka answers one with success; a client that falls back sends one or two more
# kafka-python drops a response if the connection is closed when it reads, and retries as after a network failure.
_TIME_TO_READ_SECONDS = 0.1


class Authentication:
    """`established(connection)` is called when the first authentication has succeeded. `failed`: an attempt has failed
    and is counted."""

    def __init__(
        self,
        connection: Connection,
        listener: Listener,
        ports: NetworkPorts,
        established: Callable[[Connection], None],
    ) -> None:
        self._connection = connection
        self._listener = listener
        self._ports = ports
        self._established = established
        security = ports.security.get(listener.row.name)
        mechanisms = security.mechanisms if security is not None else {}
        max_lifetimes_ms = {name: session_lifetime_ms(listener.settings, name) for name in mechanisms}
        # Weak references: a closed connection and its objects are freed at once, not by the next run of the cyclic
        # garbage collector, which would come too late in a storm of failed logins.
        rejection_reason, on_end = WeakMethod(self._rejection_reason), WeakMethod(self._on_end)
        self._session = SaslServerSession(
            mechanisms,
            max_lifetimes_ms,
            lambda authentication: _call_weak(rejection_reason, authentication),
            ports.clock,
        )
        self._end = SessionEnd(ports.clock, lambda: _call_weak(on_end))
        self._authenticated_principal = ANONYMOUS
        self._token_id = ""
        self._version_requests = 0
        self.failed = False

    def begin(self) -> None:
        """Receive the connection's frames from now on."""
        self._connection.authentication = self
        self._connection.channel.on_frame = self.on_frame

    def end(self) -> None:
        """The connection is closed: cancel the session's timer."""
        self._end.cancel()

    def tokens_changed(self, ends_ms: Mapping[str, int | None]) -> None:
        """New expiry times (epoch ms) of delegation tokens by id; None for a removed token, whose session ends at once.
        A session whose token now expires earlier ends at that time."""
        if not self._token_id or self._token_id not in ends_ms:
            return
        end_ms = ends_ms[self._token_id]
        if end_ms is not None:
            self._end.shorten(end_ms - self._ports.clock.now_ms())
            return
        self._listener.plane.expired_connections_killed += 1
        self._listener.authentications.expired.add()
        self._connection.close("its delegation token has expired or was removed")

    def on_frame(self, frame: memoryview, buffer: PooledBuffer | None) -> None:
        """A frame before authentication, during re-authentication, or after the session's end."""
        connection = self._connection
        data = memoryview(bytearray(frame))
        if buffer is not None:
            connection.channel.release_buffer(buffer)
        if self._session.state is SaslState.TOKENS_RAW:
            self._step(lambda: self._session.on_token(bytes(data)), None)
            return
        try:
            header, body_offset = decode_request_header(data)
        except DecodeError as error:
            connection.reject("garbled", f"the header cannot be read: {error}", None)
            return
        if self._end.ended and not self._begins_renewal(header):
            self._listener.plane.expired_connections_killed += 1
            self._listener.authentications.expired.add()
            connection.close("the SASL session has expired (connections.max.reauth.ms, or its token's end)")
        elif header.api_key == ApiKey.API_VERSIONS and self._may_request_versions():
            connection.submit(header, data, body_offset)
        else:
            self._on_sasl_request(header, data, body_offset)

    def on_late_request(self, header: RequestHeader, frame: memoryview, body_offset: int) -> None:
        """A SASL request after authentication: starts a re-authentication if the session expires, else it is answered
        with ILLEGAL_SASL_STATE (34)."""
        if self._begins_renewal(header):
            self._on_sasl_request(header, frame, body_offset)
        else:
            self._connection.channel.send_frame((illegal_sasl_state(header),))

    def _may_request_versions(self) -> bool:
        """Whether an ApiVersions request is answered: only before the login, and only a few times, since the response
        costs the broker more than the request costs the client."""
        self._version_requests += 1
        return self._session.state is SaslState.HANDSHAKE and self._version_requests <= _VERSIONS_BEFORE_LOGIN

    def _begins_renewal(self, header: RequestHeader) -> bool:
        """Whether this request may start a re-authentication; if so, it has started."""
        complete = self._session.state is SaslState.COMPLETE
        return complete and header.api_key == ApiKey.SASL_HANDSHAKE and self._end.begin_renewal()

    def _on_sasl_request(self, header: RequestHeader, frame: memoryview, body_offset: int) -> None:
        connection = self._connection
        connection.last_header = header
        row = API_TABLE.get(header.api_key)
        if header.api_key not in SASL_APIS or row is None:
            name = row.name if row else f"API {header.api_key}"
            connection.reject("illegal_sasl_state", f"{name} before authentication", header, denied=True)
            return
        if not row.min_version <= header.api_version <= row.max_version:
            connection.reject("unsupported_version", f"{row.name} version {header.api_version}", header)
            return
        self._step(lambda: self._session.on_request(header, frame, body_offset), header)

    def _step(self, work: Callable[[], SaslResponse], header: RequestHeader | None) -> None:
        """Let the session process a frame, in a thread if that may block; nothing is read meanwhile."""

        def process() -> SaslResponse | DecodeError:
            try:
                with LogSource(self._connection.context.client_address):
                    return work()
            except DecodeError as error:
                return error

        if not self._session.blocking:
            self._apply_response(process(), header)
            return
        self._connection.channel.mute()
        self._listener.callbacks.run(process, lambda response: self._apply_late_response(response, header))

    def _apply_late_response(self, response: SaslResponse | DecodeError, header: RequestHeader | None) -> None:
        channel = self._connection.channel
        if channel.closed:
            return
        self._apply_response(response, header)
        if self._session.state is not SaslState.FAILED:
            channel.unmute()

    def _apply_response(self, response: SaslResponse | DecodeError, header: RequestHeader | None) -> None:
        connection = self._connection
        if isinstance(response, DecodeError):
            name = API_TABLE[header.api_key].name if header is not None else "the token"
            connection.reject("garbled", f"{name} cannot be read: {response}", header)
            return
        if self._session.state is not SaslState.COMPLETE:
            connection.channel.on_frame = self.on_frame  # no other requests until the exchange is complete
        if response.failed is not None:
            self._fail(response)
            return
        if self._session.rejected:  # at once: the peer may not respond to the error
            self._note_failure(self._session.rejected)
        if response.authentication is not None:
            self._accept(response.authentication, can_renew=header is not None and header.api_version > 0)
        if response.frame is not None:
            connection.channel.send_frame((response.frame,))

    def _principal(self, authentication: SaslAuthentication) -> KafkaPrincipal:
        context = self._connection.context
        certificate = self._connection.channel.peer_certificate
        evidence = AuthenticationEvidence(
            context.security_protocol,
            context.client_address,
            context.listener_name,
            distinguished_name(certificate) if certificate else None,
            authentication.authorization_id,
            authentication.token_authenticated,
            authentication.access_token,
            authentication.extensions,
        )
        return build_principal(self._ports.principal_builder, evidence)

    def _rejection_reason(self, authentication: SaslAuthentication) -> str | None:
        """Why the principal of a login is rejected, or None: it cannot be built, or a re-authentication changes it."""
        before = self._connection.context.principal
        try:
            after = self._authenticated_principal = self._principal(authentication)
        except PrincipalRejected as rejection:
            return str(rejection)
        if not self._connection.established or after == before:
            return None
        change = f"from {before.type}.{before.name}: {after.type}.{after.name}"
        return f"Cannot change principals during re-authentication {change}"

    def _accept(self, authentication: SaslAuthentication, *, can_renew: bool) -> None:
        connection = self._connection
        connection.context.principal = self._authenticated_principal
        counts = self._listener.authentications
        if connection.established:
            counts.reauthentication_succeeded.add()
            counts.reauthentication_latency.record(self._end.renewal_ms)
            connection.channel.on_frame = connection.on_frame
        else:
            if not can_renew:
                counts.succeeded_without_reauthentication.add()
            self._established(connection)
        self._token_id = authentication.token_id
        self._end.start(authentication.lifetime_ms)

    def _on_end(self) -> None:
        """The session has expired: the next request must be a SaslHandshake, or the connection is closed."""
        self._connection.channel.on_frame = self.on_frame

    def _fail(self, response: SaslResponse) -> None:
        """Send the response after the delay and close soon after that; nothing is read meanwhile."""
        channel = self._connection.channel
        channel.mute()
        reason = response.failed or ""
        self._note_failure(reason)
        delay_ms = self._listener.settings.number("connection.failed.authentication.delay.ms")

        loop = asyncio.get_running_loop()

        def respond() -> None:
            if response.frame is None:
                close()
            else:
                channel.send_frame((response.frame,))
                loop.call_later(_TIME_TO_READ_SECONDS, close)

        def close() -> None:
            channel.close_after_flush(f"authentication failed: {reason}")

        loop.call_later(delay_ms / 1000, respond)

    def _note_failure(self, reason: str) -> None:
        """Count, log and audit a failed attempt, once per connection."""
        if self.failed:
            return
        self.failed = True
        counts = self._listener.authentications
        (counts.reauthentication_failed if self._connection.established else counts.failed).add()
        self._connection.note_rejection("authentication_failed", reason, None, denied=True)


def session_lifetime_ms(settings: ListenerSettings, mechanism: str) -> int:
    """`connections.max.reauth.ms` of the mechanism, else of the listener, else the global value."""
    value = settings.of_mechanism(mechanism, REAUTH_KEY)
    assert isinstance(value, int)
    return value


def _call_weak(method: WeakMethod[Callable[..., T]], *arguments: object) -> T | None:
    """The result of the method; None if its object has been freed."""
    call = method()
    return None if call is None else call(*arguments)
