"""A connection on a SASL listener until its peer is known, and again when its session ends (KIP-368).

SASL requests are answered here and never reach the broker. ApiVersions does: the context says that nobody is known
yet. Everything else closes the connection. A failed attempt is answered after a delay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from signalbox.network.connection import SASL_APIS, Connection
from signalbox.network.listener import Listener
from signalbox.network.network_settings import ListenerSettings
from signalbox.network.ports import NetworkPorts
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.headers import RequestHeader, decode_request_header
from signalbox.security.principal import AuthenticationEvidence
from signalbox.security.sasl.sasl_server import Outcome, Reply, SaslServerSession, SaslState
from signalbox.security.tls.distinguished_name import distinguished_name
from signalbox.transport.buffer_pool import PooledBuffer

REAUTH_KEY = "connections.max.reauth.ms"
# kafka-python drops an answer whose connection is closed by the time it reads, and tries again as after a lost network.
_TIME_TO_READ_SECONDS = 0.1


class Authentication:
    """`established(connection)` is called when the first authentication is through."""

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
        self._lifetimes_ms = {name: session_lifetime_ms(listener.settings, name) for name in mechanisms}
        self._session = SaslServerSession(mechanisms, self._lifetimes_ms)
        self._expiry: asyncio.TimerHandle | None = None

    @property
    def renewable(self) -> bool:
        """Whether sessions end, so that authenticating again makes sense."""
        return any(self._lifetimes_ms.values())

    def begin(self) -> None:
        """Take the connection's frames."""
        self._connection.authentication = self
        self._connection.channel.on_frame = self.on_frame

    def end(self) -> None:
        """The connection is closed."""
        if self._expiry is not None:
            self._expiry.cancel()

    def on_frame(self, frame: memoryview, buffer: PooledBuffer | None) -> None:
        """A frame before authentication, or after the session's end."""
        connection = self._connection
        data = memoryview(bytearray(frame))
        if buffer is not None:
            connection.channel.release_buffer(buffer)
        if self._session.state is SaslState.TOKENS_RAW:
            self._act(self._session.on_token(bytes(data)))
            return
        try:
            header, body_offset = decode_request_header(data)
        except DecodeError as error:
            connection.refuse("garbled", f"the header cannot be read: {error}", None)
            return
        if connection.established and header.api_key not in SASL_APIS:
            self._listener.plane.expired_connections_killed += 1
            connection.close("the SASL session has expired (connections.max.reauth.ms)")
        elif header.api_key == ApiKey.API_VERSIONS and self._session.state is SaslState.HANDSHAKE:
            connection.submit(header, data, body_offset)
        else:
            self.on_sasl_request(header, data, body_offset)

    def on_sasl_request(self, header: RequestHeader, frame: memoryview, body_offset: int) -> None:
        """A SASL request of this connection, at whatever time."""
        connection = self._connection
        connection.last_header = header
        row = API_TABLE.get(header.api_key)
        if header.api_key not in SASL_APIS or row is None:
            name = row.name if row else f"API {header.api_key}"
            connection.refuse("illegal_sasl_state", f"{name} before authentication", header, denied=True)
            return
        if not row.min_version <= header.api_version <= row.max_version:
            connection.refuse("unsupported_version", f"{row.name} version {header.api_version}", header)
            return
        try:
            reply = self._session.on_request(header, frame, body_offset)
        except DecodeError as error:
            connection.refuse("garbled", f"{row.name} cannot be read: {error}", header)
            return
        if self._session.state is SaslState.TOKENS:
            connection.channel.on_frame = self.on_frame  # nothing else until the exchange is over
        self._act(reply)

    def _act(self, reply: Reply) -> None:
        connection = self._connection
        if reply.failed is not None:
            self._fail(reply)
            return
        if reply.outcome is not None and not self._accept(reply.outcome):
            return
        if reply.answer is not None:
            connection.channel.send_frame((reply.answer,))

    def _accept(self, outcome: Outcome) -> bool:
        connection = self._connection
        context = connection.context
        certificate = connection.channel.peer_certificate
        evidence = AuthenticationEvidence(
            context.security_protocol,
            context.client_address,
            context.listener_name,
            distinguished_name(certificate) if certificate else None,
            outcome.authorization_id,
            outcome.token_authenticated,
        )
        principal = self._ports.principal_builder.build(evidence)
        if connection.established and principal != context.principal:
            self._fail(Reply(failed=f"re-authentication as {principal} on a connection of {context.principal}"))
            return False
        context.principal = principal
        if connection.established:
            self._listener.authentications.again_succeeded.add()
            connection.channel.on_frame = connection.on_frame
        else:
            self._established(connection)
        self._watch_session(self._lifetimes_ms[outcome.mechanism])
        return True

    def _watch_session(self, lifetime_ms: int) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        if not lifetime_ms:
            return
        self._expiry = asyncio.get_running_loop().call_later(lifetime_ms / 1000, self._expire)

    def _expire(self) -> None:
        """The session is over: the next request must be a SaslHandshake, or the connection goes."""
        self._connection.channel.on_frame = self.on_frame

    def _fail(self, reply: Reply) -> None:
        """Answer after the delay and close soon after that; nothing is read meanwhile."""
        connection = self._connection
        channel = connection.channel
        channel.mute()
        reason = reply.failed or ""
        connection.note_refusal("authentication_failed", reason, None, denied=True)
        counts = self._listener.authentications
        (counts.again_failed if connection.established else counts.failed).add()
        delay_ms = self._listener.settings.number("connection.failed.authentication.delay.ms")

        loop = asyncio.get_running_loop()

        def answer() -> None:
            if reply.answer is None:
                close()
            else:
                channel.send_frame((reply.answer,))
                loop.call_later(_TIME_TO_READ_SECONDS, close)

        def close() -> None:
            channel.close_after_flush(f"authentication failed: {reason}")

        loop.call_later(delay_ms / 1000, answer)


def session_lifetime_ms(settings: ListenerSettings, mechanism: str) -> int:
    """`connections.max.reauth.ms` of a mechanism, else of the listener, else the global one (facts 1.8)."""
    text = settings.for_mechanism(mechanism, REAUTH_KEY)
    return settings.number(REAUTH_KEY) if text is None else int(text)
