"""The state table of `sasl_server.py`, row by row."""

from __future__ import annotations

import pytest

from signalbox.common.clock import ManualClock
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.codec_errors import DecodeError
from signalbox.protocol.error_table import Error
from signalbox.protocol.headers import RequestHeader
from signalbox.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from signalbox.security.sasl.mechanism import SaslMechanism
from signalbox.security.sasl.plain import ListedPasswords, PlainMechanism, PlainServerExchange
from signalbox.security.sasl.sasl_server import SaslResponse, SaslServerSession, SaslState, illegal_sasl_state
from signalbox.security.sasl.scram import NoCredentials, ScramMechanism

RIGHT, WRONG = b"\0alice\0secret", b"\0alice\0guess"


def session(lifetime_ms: int = 0) -> SaslServerSession:
    mechanisms: dict[str, SaslMechanism] = {
        "PLAIN": PlainMechanism(ListedPasswords({"alice": "secret"})),
        "SCRAM-SHA-256": ScramMechanism("SCRAM-SHA-256", NoCredentials()),
    }
    return SaslServerSession(mechanisms, dict.fromkeys(mechanisms, lifetime_ms))


def handshake(of: SaslServerSession, mechanism: str = "PLAIN", version: int = 1) -> SaslResponse:
    header = RequestHeader(int(ApiKey.SASL_HANDSHAKE), version, 7, None)
    return of.on_request(header, memoryview(SaslHandshakeRequest(mechanism=mechanism).encode(version)), 0)


def authenticate(of: SaslServerSession, token: bytes, version: int = 1) -> SaslResponse:
    header = RequestHeader(int(ApiKey.SASL_AUTHENTICATE), version, 8, None)
    return of.on_request(header, memoryview(SaslAuthenticateRequest(auth_bytes=token).encode(version)), 0)


def handshake_error(response: SaslResponse) -> int:
    assert response.frame is not None
    assert response.frame[:4] == b"\0\0\0\7"
    return SaslHandshakeResponse.decode(response.frame, 1, 4).error_code


def answer(response: SaslResponse, version: int = 1) -> SaslAuthenticateResponse:
    assert response.frame is not None
    assert response.frame[:4] == b"\0\0\0\x08"
    return SaslAuthenticateResponse.decode(response.frame, version, 5 if version == 2 else 4)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_handshake_then_token(version: int) -> None:
    of = session(lifetime_ms=5000)
    assert handshake_error(handshake(of)) == 0
    assert str(of.state) == "SaslState.TOKENS"
    response = authenticate(of, RIGHT, version)
    assert answer(response, version).session_lifetime_ms == (5000 if version else 0)
    assert response.authentication is not None
    assert (response.authentication.authorization_id, response.authentication.mechanism) == ("alice", "PLAIN")
    assert response.failed is None
    assert of.state is SaslState.COMPLETE


def test_raw_tokens_after_handshake_zero() -> None:
    of = session()
    handshake(of, version=0)
    assert of.state is SaslState.TOKENS_RAW
    response = of.on_token(RIGHT)
    assert response.frame == b""
    assert response.authentication is not None
    of = session()
    handshake(of, version=0)
    response = of.on_token(WRONG)
    assert (response.frame, response.authentication) == (None, None)
    assert response.failed
    assert of.state is SaslState.FAILED


def test_an_invalid_token_is_rejected_with_the_reason() -> None:
    of = session()
    handshake(of)
    response = authenticate(of, WRONG)
    assert answer(response).error_code == Error.SASL_AUTHENTICATION_FAILED
    assert answer(response).error_message == response.failed == "Authentication failed: Invalid username or password"
    assert of.state is SaslState.FAILED
    assert answer(authenticate(of, RIGHT)).error_code == Error.ILLEGAL_SASL_STATE


def test_tokens_before_and_after() -> None:
    of = session()
    response = authenticate(of, RIGHT)
    assert answer(response).error_code == Error.ILLEGAL_SASL_STATE
    assert response.failed
    of = session()
    handshake(of)
    authenticate(of, RIGHT)
    assert answer(authenticate(of, RIGHT)).error_code == Error.ILLEGAL_SASL_STATE


@pytest.mark.parametrize("version", [0, 1])
def test_a_second_handshake_in_the_middle(version: int) -> None:
    of = session()
    handshake(of)
    response = handshake(of, version=version)
    assert handshake_error(response) == Error.ILLEGAL_SASL_STATE
    assert response.failed


def test_an_unknown_mechanism_is_answered_with_the_enabled_ones() -> None:
    of = session()
    response = handshake(of, "GSSAPI")
    assert handshake_error(response) == Error.UNSUPPORTED_SASL_MECHANISM
    assert "PLAIN, SCRAM-SHA-256" in str(response.failed)


def test_authenticating_again() -> None:
    of = session(5000)
    handshake(of)
    authenticate(of, RIGHT)
    assert handshake_error(handshake(of)) == 0
    assert authenticate(of, RIGHT).authentication is not None
    # Kafka accepts the handshake of another mechanism and fails the request after it, without a response
    assert handshake_error(handshake(of, "SCRAM-SHA-256")) == 0
    response = authenticate(of, RIGHT)
    assert (response.frame, response.authentication, of.state) == (None, None, SaslState.FAILED)
    assert "not supported for re-authentication of mechanism 'PLAIN'" in str(response.failed)
    of = session(5000)
    handshake(of)
    authenticate(of, RIGHT)
    assert handshake_error(handshake(of, version=0)) == Error.ILLEGAL_SASL_STATE


def test_another_api_and_garbage() -> None:
    of = session()
    response = of.on_request(RequestHeader(3, 1, 1, None), memoryview(b""), 0)
    assert (response.frame, of.state) == (None, SaslState.FAILED)
    assert response.failed
    with pytest.raises(DecodeError):
        session().on_request(RequestHeader(17, 1, 1, None), memoryview(b"\0\x7fx"), 0)


@pytest.mark.parametrize("api", [ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE])
def test_out_of_place(api: ApiKey) -> None:
    frame = illegal_sasl_state(RequestHeader(int(api), 1, 9, None))
    assert frame[:6] == b"\0\0\0\x09\0\x22"


class Expiring:
    """A mechanism whose credentials expire at `expires_at_ms`."""

    name = "EXPIRING"
    blocking = False

    def __init__(self, expires_at_ms: int | None) -> None:
        self._expires_at_ms = expires_at_ms

    def begin(self) -> PlainServerExchange:
        exchange = PlainServerExchange(ListedPasswords({"alice": "secret"}))
        exchange.expires_at_ms = self._expires_at_ms
        return exchange


@pytest.mark.parametrize(
    ("expires_in_ms", "most_ms", "lifetime_ms"),
    [(None, 0, None), (None, 5000, 5000), (9000, 0, 9000), (9000, 5000, 5000), (3000, 5000, 3000), (-1, 5000, 0)],
)
def test_a_session_ends_with_what_was_shown_and_no_later_than_allowed(
    expires_in_ms: int | None, most_ms: int, lifetime_ms: int | None
) -> None:
    clock = ManualClock()
    expires_at_ms = None if expires_in_ms is None else clock.now_ms() + expires_in_ms
    of = SaslServerSession({"EXPIRING": Expiring(expires_at_ms)}, {"EXPIRING": most_ms}, clock=clock)
    handshake(of, "EXPIRING")
    response = authenticate(of, RIGHT)
    assert response.authentication is not None
    assert response.authentication.lifetime_ms == lifetime_ms
    assert answer(response).session_lifetime_ms == (lifetime_ms or 0)


def test_an_objection_is_returned_as_by_kafka() -> None:
    of = SaslServerSession(
        {"EXPIRING": Expiring(None)}, objection=lambda authentication: f"not {authentication.authorization_id}"
    )
    handshake(of, "EXPIRING")
    response = authenticate(of, RIGHT)
    assert answer(response).error_code == Error.SASL_AUTHENTICATION_FAILED
    assert answer(response).error_message == response.failed == "not alice"
    assert response.authentication is None
