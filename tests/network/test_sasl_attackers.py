"""Attacks on SASL listeners, with real sockets (L7). No attacker is authenticated, no secret gets into a log or the
audit trail, and an ordinary client is served meanwhile."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from signalbox.common.audit_event import AuditKind
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from signalbox.protocol.messages.sasl_handshake import SaslHandshakeRequest
from signalbox.security.sasl.oauthbearer_messages import InitialResponse
from signalbox.security.sasl.plain import PlainClientExchange
from signalbox.security.sasl.scram import NoCredentials, ScramClientExchange
from signalbox.security.sasl.scram_messages import ScramCredential, make_credential
from tests.network.sasl.test_authentication import SASL, authenticate, handshake, log_in
from tests.network.serving import Dialled, Served, serving
from tests.security.issuer import Issuer, forged, key_file
from tests.security.sasl.test_scram_messages import KAFKAS

pytestmark = pytest.mark.spec("L7")
ISSUER = Issuer()
SECRETS = ("a-secret", "b-secret", "hunter2", "pencil")


class Users(NoCredentials):
    """The user carol. Her salt is sent only in the SCRAM exchange; it must not get into a log or the audit trail."""

    credential = make_credential("SCRAM-SHA-512", "pencil", b"5ahs3kqvg2wmru0dqe1zb9o7f")

    def scram_credential(self, mechanism: str, user: str) -> ScramCredential | None:
        return self.credential if (mechanism, user) == ("SCRAM-SHA-512", "carol") else None


@asynccontextmanager
async def attacked(caplog: pytest.LogCaptureFixture, given: Mapping[str, str] | None = None) -> AsyncIterator[Served]:
    """A server with a client that is served before, during and after the attack."""
    with caplog.at_level(logging.DEBUG):
        async with serving({**SASL, **(given or {})}, credentials=Users()) as served:
            bystander = await served.dial("SECURE")
            await log_in(bystander, "PLAIN", PlainClientExchange("alice", "a-secret"))
            over = asyncio.Event()
            going_on = asyncio.ensure_future(keep_asking(bystander, over))
            yield served
            over.set()
            assert await going_on > 0
            assert {str(request.context.principal) for request in served.sink.seen} <= {"User:alice", "User:ANONYMOUS"}
            assert {ApiKey(each.header.api_key) for each in served.sink.seen} <= {ApiKey.METADATA, ApiKey.API_VERSIONS}
            text = caplog.text + json.dumps([asdict(event) for event in served.recorder.events], default=str)
            secrets = (*SECRETS, base64.b64encode(Users.credential.salt).decode(), ISSUER.token().split(".")[0])
            assert leaked(text, *secrets) == []
        assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


def leaked(text: str, *secrets: str) -> list[str]:
    """The text around each secret that occurs in `text`."""
    return [text[max(0, at - 80) : at + 80] for secret in secrets if (at := text.find(secret)) >= 0]


async def keep_asking(client: Dialled, over: asyncio.Event) -> int:
    """The number of responses until `over` is set; EOFError when the connection is lost."""
    answers = 0
    while not over.is_set():
        started = time.monotonic()
        await client.ask(ApiKey.METADATA, 1)
        assert time.monotonic() - started < 30
        answers += 1
        await asyncio.sleep(0.005)  # the pace of an ordinary client
    return answers


def denied(served: Served) -> list[str]:
    """The reason of each denied login; repeated ones are counted in one event."""
    served.server.flush_audit()
    events = served.recorder.of(AuditKind.DENIED)
    return [reason for event in events for reason in [event.reason] * event.count]


def test_a_frame_of_two_gigabytes(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with attacked(caplog) as served:
            for size in (2**31 - 1, 2**31, 2**32 - 1, 524_289):
                for prepared in (False, True):
                    client = await served.dial("SECURE")
                    if prepared:
                        await handshake(client)
                    await client.send(size.to_bytes(4))
                    assert await client.ended()
            assert served.loop.pool.used_bytes == 0

    asyncio.run(main())


@pytest.mark.timeout(180)
def test_a_wrong_password_a_thousand_times(caplog: pytest.LogCaptureFixture) -> None:
    async def attempt(served: Served, number: int) -> tuple[float, str | None]:
        client = await served.dial("SECURE")
        await handshake(client)
        started = time.monotonic()
        user = "alice" if number % 2 else f"unknown-{number}"
        response = await authenticate(client, f"\0{user}\0hunter2".encode())
        waited = time.monotonic() - started
        assert response.error_code == Error.SASL_AUTHENTICATION_FAILED
        assert await client.ended()
        client.close()
        return waited, response.error_message

    async def main() -> None:
        async with attacked(caplog) as served:
            answers = []
            for first in range(0, 1000, 50):
                answers += await asyncio.gather(*(attempt(served, number) for number in range(first, first + 50)))
            assert min(waited for waited, _ in answers) >= 0.055  # connection.failed.authentication.delay.ms=60
            assert {message for _, message in answers} == {"Authentication failed: Invalid username or password"}
            assert served.authentications("SECURE")["failed-authentication-total"] == 1000
            assert served.recorder.counts["Rejections", "SECURE", "authentication_failed"] == 1000
            assert len(served.recorder.of(AuditKind.DENIED)) <= 100  # of each ten seconds, some windows
            assert len(denied(served)) == 1000
            lines = [record for record in caplog.records if "Failed authentication" in record.getMessage()]
            assert len(lines) <= 10  # one line in ten seconds: a million attempts do not fill a disk

    asyncio.run(main())


def test_responses_do_not_reveal_which_users_exist(caplog: pytest.LogCaptureFixture) -> None:
    """SCRAM: an unknown user has a salt as well, the same at every attempt on every listener."""

    async def first_answer(served: Served, listener: str, user: str) -> tuple[str, str, str | None]:
        client = await served.dial(listener)
        await handshake(client, "SCRAM-SHA-512")
        exchange = ScramClientExchange("SCRAM-SHA-512", user, "hunter2")
        challenge = (await authenticate(client, exchange.first())).auth_bytes
        fields = dict(field.split("=", 1) for field in challenge.decode().split(","))
        final = exchange.respond(challenge)
        assert final is not None
        rejection = await authenticate(client, final)
        assert (rejection.error_code, rejection.auth_bytes) == (Error.SASL_AUTHENTICATION_FAILED, b"")
        assert await client.ended()
        return fields["s"], fields["i"], rejection.error_message

    async def main() -> None:
        async with attacked(caplog) as served:
            answers = {
                user: [await first_answer(served, listener, user) for listener in ("SECURE", "CONTROL") * 2]
                for user in ("carol", "unknown-1", "unknown-2")
            }
            for seen in answers.values():
                assert len(set(seen)) == 1
            salts = {user: base64.b64decode(seen[0][0]) for user, seen in answers.items()}
            assert len(set(salts.values())) == 3
            assert all(KAFKAS.fullmatch(salt) for salt in salts.values())
            assert len({seen[0][1:] for seen in answers.values()}) == 1  # iterations and error message
            assert len(set(denied(served))) == 1

    asyncio.run(main())


def bad_tokens() -> dict[str, str]:
    now = int(time.time())
    good: dict[str, Any] = {"aud": "kafka", "iss": "https://issuer", "scope": "produce"}
    claims = {"sub": "alice", "iat": now, "exp": now + 3600} | good
    public = ISSUER.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    unsigned = forged({"alg": "HS256", "typ": "JWT", "kid": "key-1"}, claims, b"x").rpartition(".")[0]
    mac = hmac.digest(public, unsigned.encode(), hashlib.sha256)
    return {
        "expired": ISSUER.token(**good, exp=now - 60),
        "not yet valid": ISSUER.token(**good, nbf=now + 600),
        "alg none": forged({"alg": "none", "kid": "key-1"}, claims),
        "another key": Issuer(fresh=True).token(**good),
        "HS256 with the public key": f"{unsigned}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}",
        "another scope": ISSUER.token(**{**good, "scope": "consume"}),
        "no scope": ISSUER.token(**{**good, "scope": None}),
        "another audience": ISSUER.token(**{**good, "aud": "billing"}),
        "another issuer": ISSUER.token(**{**good, "iss": "https://evil"}),
        "blank subject": ISSUER.token(subject=" ", **good),
        "garbage": "x.y.z",
    }


def test_tokens_that_are_no_good(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    given = {
        "sasl.enabled.mechanisms": "PLAIN,OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": key_file(tmp_path, ISSUER),
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": "https://issuer",
        "signalbox.sasl.oauthbearer.expected.scope": "produce",
    }
    module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    given |= {f"listener.name.{name}.oauthbearer.sasl.jaas.config": module for name in ("secure", "control")}
    tokens = bad_tokens()

    async def main() -> None:
        async with attacked(caplog, given) as served:
            for name, token in tokens.items():
                client = await served.dial("SECURE")
                await handshake(client, "OAUTHBEARER")
                answer = await authenticate(client, InitialResponse(token).encode())
                status = json.loads(answer.auth_bytes)["status"]
                assert status == ("insufficient_scope" if "scope" in name else "invalid_token"), name
                started = time.monotonic()
                rejection = await authenticate(client, b"\x01")
                assert time.monotonic() - started >= 0.055
                assert rejection.error_code == Error.SASL_AUTHENTICATION_FAILED
                assert await client.ended()
            for follow in (b"", b"\x01\x01", InitialResponse(ISSUER.token(aud="kafka")).encode()):
                client = await served.dial("SECURE")
                await handshake(client, "OAUTHBEARER")
                await authenticate(client, InitialResponse(tokens["expired"]).encode())
                assert (await authenticate(client, follow)).error_code == Error.SASL_AUTHENTICATION_FAILED
            left = await served.dial("SECURE")
            await handshake(left, "OAUTHBEARER")
            await authenticate(left, InitialResponse(tokens["expired"]).encode())
            left.close()  # no further request: counted all the same
            assert served.authentications("SECURE")["failed-authentication-total"] == len(tokens) + 4
            assert len(denied(served)) == len(tokens) + 4
            assert served.authentications("SECURE")["successful-authentication-total"] == 1
            text = caplog.text + " ".join(denied(served))
            parts = [part for token in tokens.values() for part in token.split(".") if len(part) > 8]
            assert leaked(text, *parts) == []

    asyncio.run(main())


def test_every_request_before_authentication(caplog: pytest.LogCaptureFixture) -> None:
    allowed = (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)

    async def main() -> None:
        async with attacked(caplog) as served:
            for prepared in (False, True):
                for row in API_TABLE.values():
                    if row.key in allowed:
                        continue
                    client = await served.dial("SECURE")
                    if prepared:
                        await handshake(client)
                    await client.send(client.request(ApiKey(row.key), row.max_version, bytes(64)))
                    assert await client.ended()
                    client.close()
            for frame in (b"", b"\0", b"\x60" + bytes(40), b"GET / HTTP/1.1\r\n\r\n", bytes(200)):
                client = await served.dial("SECURE")
                await client.send(len(frame).to_bytes(4) + frame)
                assert await client.ended()
                client.close()

    asyncio.run(main())


def test_a_flood_of_api_versions_before_authentication(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with attacked(caplog) as served:
            for _ in range(20):
                client = await served.dial("SECURE")
                await client.send(client.request(ApiKey.API_VERSIONS, 3, b"x") * 2000)
                assert await client.ended()
            requests = [each for each in served.sink.seen if each.header.api_key == ApiKey.API_VERSIONS]
            assert len(requests) == 60
            assert served.recorder.counts["Rejections", "SECURE", "illegal_sasl_state"] == 20
            other = await served.dial("SECURE")
            for version in (5, 4, 3):  # a client that falls back
                await other.ask(ApiKey.API_VERSIONS, version)
            await log_in(other, "PLAIN", PlainClientExchange("alice", "a-secret"))

    asyncio.run(main())


@pytest.mark.timeout(60)
def test_half_an_exchange_and_silence(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with attacked(caplog, {"signalbox.connection.setup.timeout.ms": "300"}) as served:
            silent = [await served.dial("SECURE") for _ in range(4)]
            await handshake(silent[1], "SCRAM-SHA-512")
            await handshake(silent[2], "SCRAM-SHA-512")
            await authenticate(silent[2], ScramClientExchange("SCRAM-SHA-512", "carol", "hunter2").first())
            begun = silent[3].request(ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest(mechanism="PLAIN").encode(1))
            await silent[3].send(begun[:9])
            for client in silent:
                assert await client.ended()
            assert served.authentications("SECURE")["failed-authentication-total"] == 4

    asyncio.run(main())


def test_a_session_that_is_renewed_again_and_again(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with attacked(caplog, {"connections.max.reauth.ms": "60000"}) as served:
            client = await served.dial("SECURE")
            await log_in(client, "PLAIN", PlainClientExchange("alice", "a-secret"))
            assert (await handshake(client)).error_code == 0
            assert (await authenticate(client, b"\0alice\0a-secret")).error_code == 0
            for _ in range(200):
                assert (await handshake(client)).error_code == Error.ILLEGAL_SASL_STATE
            body = SaslAuthenticateRequest(auth_bytes=b"\0alice\0a-secret").encode(1)
            for _ in range(200):
                await client.ask(ApiKey.SASL_AUTHENTICATE, 1, body)
            await client.ask(ApiKey.METADATA, 1)
            assert served.authentications("SECURE")["successful-reauthentication-total"] == 1

    asyncio.run(main())
