"""The requests on a new connection before it is ready, without any I/O: ApiVersions, SASL, ApiVersions again.

`handshake(...)` is a generator that yields request payloads and is sent response payloads; asyncio connections and the
data loop's replica channels drive the same one. Rules (SPEC R1, R2, R4):

* ApiVersions 5 first, with cluster id and node id when they are known (KIP-1242), never just one of them.
* 129: `Misrouted`, before any password was sent. 35: one retry at the broker's highest version, strictly lower, or 0
  when it lists none (KIP-511). 42: one retry at version 4 without identity.
* The error code is checked before the list of APIs: both 42 and 129 come with an empty list.
* On SASL listeners Apache brokers compare the identity only after authentication, so ApiVersions is repeated then;
  there is never a second *successful* one before it.

Before it, `login_ready` waits for what the login needs. SASL sessions end (KIP-368): Kafka's clients re-authenticate on
the same connection. Ours close it shortly before the session ends and connect again, after Kafka's fractions of the
lifetime. No request is lost, because a connection is closed when none is in flight.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from signalbox.client.connection.connection_settings import ConnectionSettings, SaslLogin
from signalbox.client.connection.node import Address, Identity
from signalbox.client.connection.wire_frames import ApiRanges, decode_response, encode_request, peek_error_code
from signalbox.client.failures import AuthenticationRejected, ConnectFailed, Misrouted, PeerBroke
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from signalbox.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from signalbox.security.sasl.mechanism import SaslError

LEAVING = "the SASL session ends soon: connecting again"
_SESSION_SHARE, _SESSION_JITTER = 0.85, 0.1
_IDENTITY_FROM_VERSION = 5

Exchange = Generator[bytes, bytes | memoryview, "HandshakeResult"]


@dataclass(frozen=True, slots=True)
class HandshakeResult:
    """The APIs that the peer supports, and whether it confirmed its identity. `correlation_id` is the next free one;
    `session_lifetime_ms` is how long the peer keeps the SASL session, 0 without limit (KIP-368)."""

    api_ranges: ApiRanges
    verified: bool
    correlation_id: int
    session_lifetime_ms: int = 0


class _Dialogue:
    """One handshake: the peer's address for errors, the correlation ids, the settings."""

    def __init__(self, address: Address, settings: ConnectionSettings, identity: Identity | None) -> None:
        self.address = address
        self.settings = settings
        self.identity = identity if settings.identity_enabled else None
        self.correlation_id = 0

    def broke(self, stage: str, problem: str) -> PeerBroke:
        return PeerBroke(self.address, stage, problem)

    def ask(self, stage: str, message: Any, version: int) -> Generator[bytes, bytes | memoryview, bytes | memoryview]:
        correlation_id = self.correlation_id
        self.correlation_id += 1
        payload = yield b"".join(encode_request(message, version, correlation_id, self.settings.client_id))
        if len(payload) < 4:
            raise self.broke(stage, f"a response of {len(payload)} bytes")
        correlation = int.from_bytes(payload[:4], "big", signed=True)
        if correlation != correlation_id:
            raise self.broke(
                stage, f"Correlation id for response ({correlation}) does not match request ({correlation_id})"
            )
        return payload

    def decode(self, stage: str, response: Any, payload: bytes | memoryview, version: int) -> Any:
        try:
            return decode_response(response, payload, version)
        except ValueError as error:
            raise self.broke(stage, f"unreadable answer: {error}") from error


def handshake(address: Address, settings: ConnectionSettings, identity: Identity | None) -> Exchange:
    """Drive it with `next` and `send(response payload)`; StopIteration carries the HandshakeResult."""
    dialogue = _Dialogue(address, settings, identity)
    ranges, verified = yield from _api_versions(dialogue, API_TABLE[ApiKey.API_VERSIONS].max_version)
    lifetime_ms = 0
    if settings.security.sasl is not None:
        lifetime_ms = yield from _authenticate(dialogue, settings.security.sasl, ranges)
        highest = ranges.version_for(ApiKey.API_VERSIONS)
        ranges, verified = yield from _api_versions(dialogue, highest)
    return HandshakeResult(ranges, verified, dialogue.correlation_id, lifetime_ms)


def _api_versions(dialogue: _Dialogue, version: int) -> Generator[bytes, bytes | memoryview, tuple[ApiRanges, bool]]:
    """ApiVersions at `version`, or at a lower one after an error; the ranges and whether identity was confirmed."""
    stage = "api-versions"
    identity = dialogue.identity
    while True:
        sent = identity if version >= _IDENTITY_FROM_VERSION else None
        payload = yield from dialogue.ask(stage, _api_versions_request(dialogue, sent), version)
        error_code = peek_error_code(payload)
        if error_code == Error.UNSUPPORTED_VERSION:
            version = _lower_version(dialogue, payload, version)
            continue
        if error_code == Error.INVALID_REQUEST and version >= _IDENTITY_FROM_VERSION:
            version, identity = _IDENTITY_FROM_VERSION - 1, None
            continue
        if error_code == Error.REBOOTSTRAP_REQUIRED and sent is not None:
            raise Misrouted(dialogue.address, sent)
        response = dialogue.decode(stage, ApiVersionsResponse, payload, version)
        if error_code != Error.NONE:
            raise dialogue.broke(stage, f"rejected with error {error_code}")
        try:
            return ApiRanges.of_answer(response.api_keys), sent is not None
        except ValueError as error:
            raise dialogue.broke(stage, str(error)) from error


def _api_versions_request(dialogue: _Dialogue, identity: Identity | None) -> ApiVersionsRequest:
    request = ApiVersionsRequest(
        client_software_name=dialogue.settings.software_name,
        client_software_version=dialogue.settings.software_version,
    )
    if identity is not None:
        request.cluster_id = identity.cluster_id
        request.node_id = identity.node_id
    return request


def _lower_version(dialogue: _Dialogue, payload: bytes | memoryview, rejected: int) -> int:
    """The version of the retry after error 35, whose response always has the layout of version 0."""
    response = dialogue.decode("api-versions", ApiVersionsResponse, payload, 0)
    offered = [row.max_version for row in response.api_keys if row.api_key == ApiKey.API_VERSIONS]
    version = min(offered[0], API_TABLE[ApiKey.API_VERSIONS].max_version) if offered else 0
    if not 0 <= version < rejected:
        raise dialogue.broke("api-versions", f"rejects version {rejected} and offers {version}")
    return version


def _authenticate(
    dialogue: _Dialogue, login: SaslLogin, ranges: ApiRanges
) -> Generator[bytes, bytes | memoryview, int]:
    """SaslHandshake, then the mechanism's messages, each in a SaslAuthenticate (KIP-152); the lifetime in ms."""
    from signalbox.client.connection.hiding_login import secrets_in  # clients without a login start sooner
    from signalbox.security.clean_text import TextCleaner
    from signalbox.security.oauth.login_token import TokenUnavailable

    secrets: tuple[str, ...] = ()

    def rejected(problem: str) -> AuthenticationRejected:
        """Its text is logged, and a peer may return the password in it, or escape sequences of terminals."""
        return AuthenticationRejected(dialogue.address, TextCleaner(secrets).clean(problem))

    payload = yield from dialogue.ask("sasl", SaslHandshakeRequest(mechanism=login.mechanism), 1)
    offer = dialogue.decode("sasl", SaslHandshakeResponse, payload, 1)
    if offer.error_code != Error.NONE and not offer.mechanisms:
        raise rejected(f"the listener has no SASL, so no mechanism {login.mechanism}")
    if offer.error_code != Error.NONE:
        raise rejected(f"mechanism {login.mechanism} is not among the broker's: {', '.join(offer.mechanisms)}")
    version = ranges.version_for(ApiKey.SASL_AUTHENTICATE)
    exchange = login.begin()
    try:
        first = exchange.first()
    except TokenUnavailable as error:
        raise ConnectFailed(dialogue.address, "sasl", str(error)) from error
    secrets = secrets_in(login.mechanism, first)
    message: bytes | None = first
    lifetime_ms = 0
    while message is not None:
        payload = yield from dialogue.ask("sasl", SaslAuthenticateRequest(auth_bytes=message), version)
        response = dialogue.decode("sasl", SaslAuthenticateResponse, payload, version)
        if response.error_code != Error.NONE:
            raise rejected(response.error_message or f"error {response.error_code}")
        try:
            message = exchange.respond(bytes(response.auth_bytes))
        except SaslError as error:
            raise rejected(f"the broker is not trusted: {error}") from error
        lifetime_ms = response.session_lifetime_ms
    return lifetime_ms


def seconds_until_session_end(session_lifetime_ms: int) -> float:
    """The time in seconds after which a connection should be closed, with random jitter."""
    return session_lifetime_ms / 1000 * (_SESSION_SHARE + _SESSION_JITTER * random.random())


async def login_ready(address: Address, settings: ConnectionSettings) -> None:
    """Wait for what the login needs (a token). ConnectFailed without it, or when no connection may be made."""
    if settings.security.unusable:
        raise ConnectFailed(address, "resolve", settings.security.unusable)
    login = settings.security.sasl
    if login is None or login.ready is None:
        return
    from signalbox.security.oauth.login_token import TokenUnavailable

    try:
        await login.ready()
    except TokenUnavailable as error:
        raise ConnectFailed(address, "sasl", str(error)) from error
