"""Kafka's SASL protocol, server side: handshake, then tokens, as one state machine without a socket (KIP-43, KIP-152,
KIP-368).

| state | SaslHandshake 0 | SaslHandshake 1 | SaslAuthenticate | raw token | another API |
|---|---|---|---|---|---|
| HANDSHAKE | → TOKENS_RAW | → TOKENS | rejected, 34 | - | rejected |
| TOKENS | rejected, 34 | rejected, 34 | token → TOKENS or COMPLETE | - | rejected |
| TOKENS_RAW | - | - | - | token → TOKENS_RAW or COMPLETE | - |
| COMPLETE | rejected, 34 | re-authentication → TOKENS or OTHER_MECHANISM | rejected, 34 | - | not handled here |
| OTHER_MECHANISM | rejected | rejected | rejected | - | rejected |

34 is ILLEGAL_SASL_STATE. "Rejected" closes the connection after the response, if there is one. ApiVersions is handled
elsewhere. The response to a failed exchange is delayed (`SaslResponse.failed`), so that guessing is slow. A
re-authentication may not change the principal, nor the mechanism (the handshake gets a response, the next request is
rejected).

A session ends when the peer's credential (a token) expires, and after `connections.max.reauth.ms` at the latest, if
that is set; a session with a lifetime of 0 has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from signalbox.common.clock import Clock, SystemClock
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import RequestHeader, encode_response_header
from signalbox.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from signalbox.security.oauth.access_token import AccessToken
from signalbox.security.sasl.mechanism import SaslError, SaslMechanism, SaslServerExchange

__all__ = ["SaslAuthentication", "SaslMechanism", "SaslResponse", "SaslServerSession", "SaslState"]


class SaslState(Enum):
    HANDSHAKE = "handshake"
    TOKENS = "tokens"
    TOKENS_RAW = "tokens_raw"
    OTHER_MECHANISM = "other_mechanism"
    COMPLETE = "complete"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SaslAuthentication:
    """The result of a complete exchange. `lifetime_ms` is the session's lifetime, None without limit."""

    authorization_id: str
    mechanism: str
    token_authenticated: bool
    lifetime_ms: int | None = None
    access_token: AccessToken | None = None
    extensions: Mapping[str, str] = field(default_factory=dict)
    token_id: str = ""


@dataclass(frozen=True, slots=True)
class SaslResponse:
    """`frame` is a response frame without its size, None when there is none. `failed` is the reason why the connection
    is closed after the response (both after the delay); `authentication` is set when the peer is authenticated."""

    frame: bytes | None = None
    failed: str | None = None
    authentication: SaslAuthentication | None = None


def _accept_all(_: SaslAuthentication) -> str | None:
    return None


class SaslServerSession:
    """One connection's authentications. `max_lifetimes_ms` by mechanism is `connections.max.reauth.ms`; absent or 0 is
    no limit. `objection(authentication)` is why an authenticated peer is rejected all the same (its principal has
    changed), None when it is accepted."""

    def __init__(
        self,
        mechanisms: Mapping[str, SaslMechanism],
        max_lifetimes_ms: Mapping[str, int] | None = None,
        objection: Callable[[SaslAuthentication], str | None] = _accept_all,
        clock: Clock | None = None,
    ) -> None:
        self._mechanisms = mechanisms
        self._max_lifetimes_ms = max_lifetimes_ms or {}
        self._objection = objection
        self._clock = clock or SystemClock()
        self._exchange: SaslServerExchange | None = None
        self._mechanism = ""
        self._first_mechanism = ""
        self._wanted = ""
        self.state = SaslState.HANDSHAKE

    @property
    def blocking(self) -> bool:
        """Whether the check of the next token may block."""
        tokens = self.state in (SaslState.TOKENS, SaslState.TOKENS_RAW)
        return tokens and self._mechanisms[self._mechanism].blocking

    @property
    def rejected(self) -> str:
        """Why the current attempt has failed while the peer still has to acknowledge that, else ""."""
        return self._exchange.rejected if self._exchange is not None else ""

    def on_request(self, header: RequestHeader, frame: memoryview, body_offset: int) -> SaslResponse:
        """A SaslHandshake or SaslAuthenticate request, or another one, which is rejected. DecodeError."""
        if self.state is SaslState.OTHER_MECHANISM:
            self.state = SaslState.FAILED
            return SaslResponse(
                failed=f"SASL mechanism {self._wanted!r} requested by client is not supported for re-authentication of"
                f" mechanism {self._first_mechanism!r}"
            )
        if header.api_key == ApiKey.SASL_HANDSHAKE:
            return self._handshake(header, SaslHandshakeRequest.decode(frame, header.api_version, body_offset))
        if header.api_key == ApiKey.SASL_AUTHENTICATE:
            request = SaslAuthenticateRequest.decode(frame, header.api_version, body_offset)
            return self._authenticate(header, bytes(request.auth_bytes))
        self.state = SaslState.FAILED
        return SaslResponse(failed=f"API {header.api_key} during SASL authentication")

    def on_token(self, token: bytes) -> SaslResponse:
        """A raw token, after SaslHandshake 0. There failures have no response."""
        try:
            answer, authentication = self._step(token)
        except SaslError as error:
            return SaslResponse(failed=error.reason)
        return SaslResponse(frame=answer, authentication=authentication)

    def _handshake(self, header: RequestHeader, request: SaslHandshakeRequest) -> SaslResponse:
        is_reauthentication = self.state is SaslState.COMPLETE
        if self.state is not SaslState.HANDSHAKE and not (is_reauthentication and header.api_version > 0):
            return self._reject_handshake(
                header, Error.ILLEGAL_SASL_STATE, f"SaslHandshake in state {self.state.value}"
            )
        mechanism = self._mechanisms.get(request.mechanism)
        if mechanism is None:
            return self._reject_handshake(
                header,
                Error.UNSUPPORTED_SASL_MECHANISM,
                f"the mechanism {request.mechanism[:64]!r} is not enabled, {', '.join(self._mechanisms)} are",
            )
        if is_reauthentication and request.mechanism != self._first_mechanism:
            self._wanted, self.state = request.mechanism, SaslState.OTHER_MECHANISM
            return SaslResponse(frame=self._handshake_answer(header, Error.NONE))
        self._mechanism = mechanism.name
        self._exchange = mechanism.begin()
        self.state = SaslState.TOKENS if header.api_version > 0 else SaslState.TOKENS_RAW
        return SaslResponse(frame=self._handshake_answer(header, Error.NONE))

    def _authenticate(self, header: RequestHeader, token: bytes) -> SaslResponse:
        if self.state is not SaslState.TOKENS:
            reason = f"SaslAuthenticate in state {self.state.value}"
            self.state = SaslState.FAILED
            return SaslResponse(self._authenticate_answer(header, Error.ILLEGAL_SASL_STATE, reason), failed=reason)
        try:
            answer, authentication = self._step(token)
        except SaslError as error:
            return SaslResponse(
                self._authenticate_answer(header, Error.SASL_AUTHENTICATION_FAILED, str(error)), failed=error.reason
            )
        return SaslResponse(
            self._authenticate_answer(header, Error.NONE, "", answer, authentication), authentication=authentication
        )

    def _step(self, token: bytes) -> tuple[bytes, SaslAuthentication | None]:
        exchange = self._exchange
        assert exchange is not None
        try:
            answer = exchange.respond(token)
            if not exchange.complete:
                return answer, None
            authentication = self._authentication(exchange)
            objection = self._objection(authentication)
            if objection is not None:
                raise SaslError(objection)
        except SaslError:
            self.state = SaslState.FAILED
            raise
        self.state = SaslState.COMPLETE
        self._exchange = None
        self._first_mechanism = self._first_mechanism or self._mechanism
        return answer, authentication

    def _authentication(self, exchange: SaslServerExchange) -> SaslAuthentication:
        ends_ms = [limit] if (limit := self._max_lifetimes_ms.get(self._mechanism, 0)) else []
        if exchange.expires_at_ms is not None:
            ends_ms.append(max(0, exchange.expires_at_ms - self._clock.now_ms()))
        lifetime_ms = min(ends_ms, default=None)
        return SaslAuthentication(
            exchange.authorization_id,
            self._mechanism,
            exchange.token_authenticated,
            lifetime_ms,
            exchange.access_token,
            exchange.extensions,
            exchange.token_id,
        )

    def _reject_handshake(self, header: RequestHeader, error: Error, reason: str) -> SaslResponse:
        self.state = SaslState.FAILED
        return SaslResponse(self._handshake_answer(header, error), failed=reason)

    def _handshake_answer(self, header: RequestHeader, error: Error) -> bytes:
        response = SaslHandshakeResponse(error_code=int(error), mechanisms=list(self._mechanisms))
        return _framed(header, response.encode(header.api_version))

    def _authenticate_answer(
        self,
        header: RequestHeader,
        error: Error,
        message: str,
        token: bytes = b"",
        authentication: SaslAuthentication | None = None,
    ) -> bytes:
        has_lifetime = authentication is not None and header.api_version > 0
        lifetime_ms = (authentication.lifetime_ms or 0) if has_lifetime and authentication is not None else 0
        response = SaslAuthenticateResponse(
            error_code=int(error), error_message=message, auth_bytes=token, session_lifetime_ms=lifetime_ms
        )
        return _framed(header, response.encode(header.api_version))


def illegal_sasl_state(header: RequestHeader) -> bytes:
    """The response to a SASL request on a connection without SASL, or on one that is already authenticated."""
    code = int(Error.ILLEGAL_SASL_STATE)
    response: SaslHandshakeResponse | SaslAuthenticateResponse
    if header.api_key == ApiKey.SASL_HANDSHAKE:
        response = SaslHandshakeResponse(error_code=code)
    else:
        response = SaslAuthenticateResponse(
            error_code=code, error_message="SaslAuthenticate request received after successful authentication"
        )
    return _framed(header, response.encode(header.api_version))


def _framed(header: RequestHeader, body: bytes) -> bytes:
    return encode_response_header(header.api_key, header.api_version, header.correlation_id) + body
