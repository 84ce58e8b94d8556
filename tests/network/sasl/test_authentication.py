"""SASL on a listener, as clients see it (KIP-43, KIP-152, KIP-368)."""

from __future__ import annotations

import asyncio
import time
from typing import ClassVar

import pytest

from signalbox.common.audit_event import AuditKind
from signalbox.common.clock import SystemClock
from signalbox.common.log_limiter import current_source
from signalbox.network.sasl.authentication import session_lifetime_ms
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from signalbox.security.principal import ANONYMOUS
from signalbox.security.sasl.mechanism import SaslClientExchange
from signalbox.security.sasl.plain import PlainClientExchange
from signalbox.security.sasl.scram import NoCredentials, ScramClientExchange, TokenLogin
from signalbox.security.sasl.scram_messages import ScramCredential, make_credential
from tests.network.serving import Dialled, configured, serving
from tests.transport.loopback import framed

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="a-secret" user_bob="b-secret";'
SASL = {
    "listeners": "SECURE://127.0.0.1:0,CONTROL://127.0.0.1:0",
    "listener.security.protocol.map": "SECURE:SASL_PLAINTEXT,CONTROL:SASL_PLAINTEXT",
    "inter.broker.listener.name": "SECURE",
    "control.plane.listener.name": "CONTROL",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "connection.failed.authentication.delay.ms": "60",
} | {
    f"listener.name.{listener}.{mechanism}.sasl.jaas.config": text
    for listener in ("secure", "control")
    for mechanism, text in (
        ("plain", JAAS),
        ("scram-sha-256", "org.apache.kafka.common.security.scram.ScramLoginModule required;"),
        ("scram-sha-512", "org.apache.kafka.common.security.scram.ScramLoginModule required;"),
    )
}
ALICE = b"\0alice\0a-secret"


class Users(NoCredentials):
    sources: ClassVar[list[str]] = []

    def scram_credential(self, mechanism: str, user: str) -> ScramCredential | None:
        self.sources.append(current_source())
        return make_credential(mechanism, "pencil", b"salt" * 4) if user == "carol" else None


async def handshake(client: Dialled, mechanism: str = "PLAIN", version: int = 1) -> SaslHandshakeResponse:
    body = SaslHandshakeRequest(mechanism=mechanism).encode(version)
    return SaslHandshakeResponse.decode(await client.ask(ApiKey.SASL_HANDSHAKE, version, body), version, 4)


async def authenticate(client: Dialled, token: bytes, version: int = 1) -> SaslAuthenticateResponse:
    body = SaslAuthenticateRequest(auth_bytes=token).encode(version)
    frame = await client.ask(ApiKey.SASL_AUTHENTICATE, version, body)
    return SaslAuthenticateResponse.decode(frame, version, 5 if version > 1 else 4)


async def log_in(client: Dialled, mechanism: str, exchange: SaslClientExchange) -> SaslAuthenticateResponse:
    assert (await handshake(client, mechanism)).error_code == 0
    token: bytes | None = exchange.first()
    while token is not None:
        response = await authenticate(client, token)
        assert response.error_code == 0, response
        token = exchange.respond(response.auth_bytes)
    assert exchange.complete
    return response


@pytest.mark.parametrize("listener", ["SECURE", "CONTROL"])
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_logging_in(listener: str, mechanism: str) -> None:
    async def main() -> None:
        async with serving(SASL, credentials=Users()) as served:
            client = await served.dial(listener)
            await client.ask(ApiKey.API_VERSIONS, 3, b"early")
            assert served.sink.seen[0].context.principal == ANONYMOUS
            exchange: SaslClientExchange
            if mechanism == "PLAIN":
                exchange, user = PlainClientExchange("alice", "a-secret"), "User:alice"
            else:
                exchange, user = ScramClientExchange(mechanism, "carol", "pencil"), "User:carol"
            assert (await log_in(client, mechanism, exchange)).session_lifetime_ms == 0
            await client.ask(ApiKey.METADATA, 1, b"x")
            context = served.sink.seen[-1].context
            assert str(context.principal) == user
            (event,) = served.recorder.of(AuditKind.CONNECTION_OPEN)
            assert event.principal == user
            assert (await handshake(client)).error_code == Error.ILLEGAL_SASL_STATE

    asyncio.run(main())


def test_the_oldest_way_raw_tokens() -> None:
    async def main() -> None:
        async with serving(SASL) as served:
            client = await served.dial("SECURE")
            assert (await handshake(client, version=0)).error_code == 0
            await client.send(framed(ALICE))
            assert await client.answer() == b""
            assert await client.ask(ApiKey.METADATA, 1, b"x") == b"\0\0\0\2x"
            wrong = await served.dial("SECURE")
            await handshake(wrong, version=0)
            await wrong.send(framed(b"\0alice\0guess"))
            assert await wrong.ended()

    asyncio.run(main())


def test_the_newest_way_flexible_and_pipelined_behind_the_login() -> None:
    async def main() -> None:
        async with serving(SASL) as served:
            client = await served.dial("SECURE")
            requests = [
                client.request(ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest(mechanism="PLAIN").encode(1)),
                client.request(ApiKey.SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(auth_bytes=ALICE).encode(2)),
                client.request(ApiKey.METADATA, 1, b"x"),
            ]
            await client.send(b"".join(requests))
            answers = [await client.answer() for _ in range(3)]
            assert [respond[3] for respond in answers] == [1, 2, 3]

    asyncio.run(main())


def test_log_lines_of_a_login_belong_to_its_client() -> None:
    async def main() -> None:
        async with serving(SASL, credentials=Users()) as served:
            Users.sources.clear()
            exchange = ScramClientExchange("SCRAM-SHA-256", "carol", "pencil")
            await log_in(await served.dial("SECURE"), "SCRAM-SHA-256", exchange)
            assert set(Users.sources) == {"127.0.0.1"}

    asyncio.run(main())


@pytest.mark.parametrize("token", [b"\0alice\0guess", b"\0unknown\0x", b"bob\0alice\0a-secret", b"\xff", b""])
def test_a_wrong_password_is_answered_late_and_the_connection_closed(token: bytes) -> None:
    async def main() -> None:
        async with serving(SASL) as served:
            client = await served.dial("SECURE")
            await handshake(client)
            started = time.monotonic()
            response = await authenticate(client, token)
            assert time.monotonic() - started >= 0.055
            assert response.error_code == Error.SASL_AUTHENTICATION_FAILED
            assert response.error_message
            assert await client.ended()
            (event,) = await served.recorder.until(AuditKind.DENIED)
            assert event.listener == "SECURE"
            assert event.api == "SaslAuthenticate"
            assert served.sink.seen == []
            assert served.recorder.of(AuditKind.CONNECTION_OPEN) == []

    asyncio.run(main())


def test_an_unknown_user_and_a_wrong_password_look_alike() -> None:
    async def main() -> None:
        messages = set()
        async with serving(SASL) as served:
            for token in (b"\0alice\0guess", b"\0unknown\0guess"):
                client = await served.dial("SECURE")
                await handshake(client)
                messages.add((await authenticate(client, token)).error_message)
        assert messages == {"Authentication failed: Invalid username or password"}

    asyncio.run(main())


def test_a_mechanism_that_is_not_enabled() -> None:
    async def main() -> None:
        async with serving(SASL) as served:
            client = await served.dial("SECURE")
            response = await handshake(client, "GSSAPI")
            assert response.error_code == Error.UNSUPPORTED_SASL_MECHANISM
            assert response.mechanisms == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
            assert await client.ended()

    asyncio.run(main())


def test_requests_before_authentication_close_the_connection() -> None:
    async def main() -> None:
        async with serving(SASL) as served:
            for api in (ApiKey.METADATA, ApiKey.PRODUCE, ApiKey.ENVELOPE):
                client = await served.dial("SECURE")
                await client.send(client.request(api, 0 if api is not ApiKey.PRODUCE else 3))
                assert await client.ended()
            assert served.sink.seen == []
            assert served.recorder.counts["Rejections", "SECURE", "illegal_sasl_state"] == 3
            early = await served.dial("SECURE")
            response = await authenticate(early, ALICE)
            assert response.error_code == Error.ILLEGAL_SASL_STATE
            assert await early.ended()

    asyncio.run(main())


def test_api_versions_in_the_middle_of_a_login_closes_the_connection() -> None:
    async def main() -> None:
        async with serving(SASL) as served:
            client = await served.dial("SECURE")
            await handshake(client)
            await client.send(client.request(ApiKey.API_VERSIONS, 0))
            assert await client.ended()
            assert served.sink.seen == []

    asyncio.run(main())


@pytest.mark.parametrize("body", [b"", b"\0\x7fPLAIN", b"\0\x05PLAINtrailing"])
def test_garbage_inside_a_handshake(body: bytes) -> None:
    async def main() -> None:
        async with serving(SASL) as served:
            client = await served.dial("SECURE")
            await client.send(client.request(ApiKey.SASL_HANDSHAKE, 1, body))
            assert await client.ended()
            assert served.recorder.counts["Rejections", "SECURE", "garbled"] == 1

    asyncio.run(main())


def test_frames_are_small_before_authentication_and_large_afterwards() -> None:
    async def main() -> None:
        async with serving(SASL) as served:
            client = await served.dial("SECURE")
            await client.send((600_000).to_bytes(4))
            assert await client.ended()
            other = await served.dial("SECURE")
            await log_in(other, "PLAIN", PlainClientExchange("alice", "a-secret"))
            assert len(await other.ask(ApiKey.METADATA, 1, bytes(600_000))) == 600_004

    asyncio.run(main())


@pytest.mark.spec("L7")
def test_a_session_ends_unless_the_client_logs_in_again() -> None:
    async def main() -> None:
        async with serving(SASL | {"connections.max.reauth.ms": "150"}) as served:
            client = await served.dial("SECURE")
            response = await log_in(client, "PLAIN", PlainClientExchange("alice", "a-secret"))
            assert response.session_lifetime_ms == 150
            assert await client.ask(ApiKey.METADATA, 1, b"x") == b"\0\0\0\3x"
            # re-authenticates in time
            await log_in(client, "PLAIN", PlainClientExchange("alice", "a-secret"))
            await client.ask(ApiKey.METADATA, 1)
            loop = asyncio.get_running_loop()
            over: asyncio.Future[None] = loop.create_future()
            loop.call_later(0.17, over.set_result, None)
            await over
            # the first request after the end must be a handshake, and a client may re-authenticate once per second
            await client.send(
                client.request(ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest(mechanism="PLAIN").encode(1))
            )
            assert await client.ended()
            late, other = await served.dial("SECURE"), await served.dial("SECURE")
            for each in (late, other):
                await log_in(each, "PLAIN", PlainClientExchange("alice", "a-secret"))
                await each.ask(ApiKey.METADATA, 1)
            over = loop.create_future()
            loop.call_later(0.2, over.set_result, None)
            await over
            await log_in(late, "PLAIN", PlainClientExchange("alice", "a-secret"))
            await late.ask(ApiKey.METADATA, 1)
            await other.send(other.request(ApiKey.METADATA, 1))
            assert await other.ended()
            assert served.server.planes["data"].expired_connections_killed == 2
            counts = served.authentications("SECURE")
            assert (counts["successful-authentication-total"], counts["failed-authentication-total"]) == (3, 0)
            assert (counts["successful-reauthentication-total"], counts["failed-reauthentication-total"]) == (2, 0)
            assert counts["expired-connections-killed-count"] == 2
            assert served.recorder.counts["ReauthenticationTimeMs", "SECURE"] >= 0

    asyncio.run(main())


class OneToken(Users):
    """A delegation token of alice; the test sets when it expires."""

    def __init__(self) -> None:
        super().__init__()
        self.expires_at_ms = 0

    def token_login(self, mechanism: str, token_id: str) -> TokenLogin | None:
        credential = make_credential(mechanism, "hmac", b"salt" * 4)
        return TokenLogin("alice", self.expires_at_ms, credential) if token_id == "t" else None


@pytest.mark.spec("L7")
def test_a_session_by_a_token_ends_with_it_unless_it_is_renewed() -> None:
    def by_token() -> ScramClientExchange:
        return ScramClientExchange("SCRAM-SHA-256", "t", "hmac", token_auth=True)

    async def main() -> None:
        tokens = OneToken()
        limits = {"connections.max.reauth.ms": "60000"}
        async with serving(SASL | limits, credentials=tokens) as served:
            client = await served.dial("SECURE")
            tokens.expires_at_ms = SystemClock().now_ms() + 3_600_000
            response = await log_in(client, "SCRAM-SHA-256", by_token())
            assert response.session_lifetime_ms == 60_000, "the earlier of the two ends counts"
            await client.ask(ApiKey.METADATA, 1)
            assert served.sink.seen[-1].context.principal.token_authenticated
            tokens.expires_at_ms = SystemClock().now_ms() + 500
            other = await served.dial("SECURE")
            response = await log_in(other, "SCRAM-SHA-256", by_token())
            assert 0 < response.session_lifetime_ms <= 500
            loop = asyncio.get_running_loop()
            over: asyncio.Future[None] = loop.create_future()
            loop.call_later(0.51, over.set_result, None)
            await over
            # The token was renewed meanwhile: a client that logs in again continues with the same principal.
            tokens.expires_at_ms = SystemClock().now_ms() + 30_000
            assert 1_000 < (await log_in(other, "SCRAM-SHA-256", by_token())).session_lifetime_ms <= 30_000
            await other.ask(ApiKey.METADATA, 1)
            tokens.expires_at_ms = SystemClock().now_ms() - 1
            late = await served.dial("SECURE")
            assert (await log_in(late, "SCRAM-SHA-256", by_token())).session_lifetime_ms == 0
            await late.send(late.request(ApiKey.METADATA, 1))
            assert await late.ended(), "over when it begins"

    asyncio.run(main())


@pytest.mark.spec("L7")
def test_connections_of_an_ended_token_are_closed_others_stay() -> None:
    async def main() -> None:
        tokens = OneToken()
        tokens.expires_at_ms = SystemClock().now_ms() + 3_600_000
        async with serving(SASL, credentials=tokens) as served:
            by_token, by_password = await served.dial("SECURE"), await served.dial("SECURE")
            exchange = ScramClientExchange("SCRAM-SHA-256", "t", "hmac", token_auth=True)
            await log_in(by_token, "SCRAM-SHA-256", exchange)
            await log_in(by_password, "PLAIN", PlainClientExchange("alice", "a-secret"))
            served.server.tokens_changed({"other": None, "t": tokens.expires_at_ms + 1})
            await by_token.ask(ApiKey.METADATA, 1)
            served.server.tokens_changed({"t": None})
            assert await by_token.ended()
            await by_password.ask(ApiKey.METADATA, 1)
            assert served.server.planes["data"].expired_connections_killed == 1
            cut = await served.dial("SECURE")
            await log_in(cut, "SCRAM-SHA-256", ScramClientExchange("SCRAM-SHA-256", "t", "hmac", token_auth=True))
            served.server.tokens_changed({"t": SystemClock().now_ms() - 1})
            await cut.send(cut.request(ApiKey.METADATA, 1))
            assert await cut.ended(), "its token ends earlier than it did"

    asyncio.run(main())


@pytest.mark.spec("L7")
def test_reauthentication_cannot_change_the_principal() -> None:
    async def main() -> None:
        async with serving(SASL | {"connections.max.reauth.ms": "60000"}, credentials=Users()) as served:
            client = await served.dial("SECURE")
            await log_in(client, "PLAIN", PlainClientExchange("alice", "a-secret"))
            await handshake(client)
            response = await authenticate(client, b"\0bob\0b-secret")
            assert response.error_code == Error.SASL_AUTHENTICATION_FAILED
            words = "Cannot change principals during re-authentication from User.alice: User.bob"
            assert response.error_message == words
            assert await client.ended()
            (event,) = await served.recorder.until(AuditKind.DENIED)
            assert event.reason == words
            assert event.principal == "User:alice"
            other = await served.dial("SECURE")
            await log_in(other, "PLAIN", PlainClientExchange("alice", "a-secret"))
            assert (await handshake(other, "SCRAM-SHA-256")).error_code == 0
            body = SaslAuthenticateRequest(
                auth_bytes=ScramClientExchange("SCRAM-SHA-256", "alice", "x").first()
            ).encode(1)
            await other.send(other.request(ApiKey.SASL_AUTHENTICATE, 1, body))
            assert await other.ended()
            counts = served.authentications("SECURE")
            assert (counts["failed-reauthentication-total"], counts["failed-authentication-total"]) == (2, 0)

    asyncio.run(main())


def test_a_session_may_last_differently_by_mechanism() -> None:
    _, settings = configured(
        SASL
        | {
            "connections.max.reauth.ms": "3",
            "listener.name.secure.connections.max.reauth.ms": "2",
            "listener.name.secure.plain.connections.max.reauth.ms": "1",
        }
    )
    secure, control = settings.listener("SECURE"), settings.listener("CONTROL")
    assert [session_lifetime_ms(view, "PLAIN") for view in (secure, control)] == [1, 3]
    assert session_lifetime_ms(secure, "SCRAM-SHA-256") == 2
