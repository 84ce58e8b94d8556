"""From configuration to mechanism: which of three keys applies, and errors found before any listener binds (L5, L7)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from signalbox.common.config.config_table import ConfigFault
from signalbox.network.listeners.listener_security import build_security
from signalbox.network.sasl.sasl_mechanisms import SUPPORTED_MECHANISMS
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.security.class_loading import CallbackSettings
from signalbox.security.oauth.access_token import AccessToken, TokenRejected
from signalbox.security.principal import AuthenticationEvidence, DefaultPrincipalBuilder, KafkaPrincipal
from signalbox.security.sasl.oauthbearer import OAuthBearerClientExchange
from signalbox.security.sasl.plain import PlainClientExchange
from signalbox.security.sasl.scram import NoCredentials
from tests.network.sasl.test_authentication import authenticate, handshake, log_in
from tests.network.serving import Served, configured, serving
from tests.security.issuer import Endpoint, Issuer, answering, forged, key_file, key_set

pytestmark = pytest.mark.spec("L5", "L7")
ISSUER = Issuer()
HANDLER = "listener.name.secure.oauthbearer.sasl.server.callback.handler.class"
JWKS = "sasl.oauthbearer.jwks.endpoint.url"
OAUTH = "org.apache.kafka.common.security.oauthbearer."


def properties(**given: str) -> dict[str, str]:
    return {
        "listeners": "OPEN://127.0.0.1:0,SECURE://127.0.0.1:0",
        "listener.security.protocol.map": "OPEN:PLAINTEXT,SECURE:SASL_PLAINTEXT",
        "inter.broker.listener.name": "OPEN",
        "listener.name.secure.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.secure.oauthbearer.sasl.jaas.config": f"{OAUTH}OAuthBearerLoginModule required;",
        "connection.failed.authentication.delay.ms": "20",
    } | given


def faults(given: Mapping[str, str]) -> list[ConfigFault]:
    return build_security(*configured(given), NoCredentials())[1]


def bearer(token: str) -> OAuthBearerClientExchange:
    return OAuthBearerClientExchange(lambda: token)


def test_supported_mechanisms() -> None:
    assert SUPPORTED_MECHANISMS == ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")


@pytest.mark.parametrize("prefix", ["", "listener.name.secure.", "listener.name.secure.oauthbearer."])
def test_a_key_counts_for_everything_for_a_listener_or_for_a_mechanism(prefix: str, tmp_path: Path) -> None:
    (tmp_path / "else").mkdir()
    given = properties() | {JWKS: key_file(tmp_path / "else", Issuer(key_id="else"))}
    given[f"{prefix}{JWKS}"] = key_file(tmp_path, ISSUER)
    given[f"{prefix}sasl.oauthbearer.expected.audience"] = "kafka, logs"

    async def main() -> None:
        async with serving(given) as served:
            client = await served.dial("SECURE")
            await log_in(client, "OAUTHBEARER", bearer(ISSUER.token(aud="logs")))
            await client.ask(ApiKey.METADATA, 1)
            assert str(served.sink.seen[-1].context.principal) == "User:alice"
            other = await served.dial("SECURE")
            await handshake(other, "OAUTHBEARER")
            answer = await authenticate(other, bearer(ISSUER.token(aud="billing")).first())
            assert (answer.error_code, answer.auth_bytes) == (0, b'{"status":"invalid_token"}')
            answer = await authenticate(other, b"\x01")
            assert answer.error_code == Error.SASL_AUTHENTICATION_FAILED
            assert answer.error_message == '{"status":"invalid_token"}'
            assert await other.ended()
            assert served.authentications("SECURE")["failed-authentication-total"] == 1

    asyncio.run(main())


class ByTenant(DefaultPrincipalBuilder):
    """A principal name made of the tenant extension, the user and the scopes of an OAUTHBEARER login."""

    def build(self, evidence: AuthenticationEvidence) -> KafkaPrincipal:
        if evidence.access_token is None:
            return super().build(evidence)
        scopes = "+".join(sorted(evidence.access_token.scopes))
        return KafkaPrincipal("User", f"{evidence.sasl_extensions['tenant']}/{evidence.authorization_id}/{scopes}")


def test_a_principal_builder_sees_the_token_and_the_extensions(tmp_path: Path) -> None:
    given = properties() | {JWKS: key_file(tmp_path, ISSUER)}

    async def main() -> None:
        async with serving(given, principals=ByTenant()) as served:
            client = await served.dial("SECURE")
            token = ISSUER.token(scope="read write")
            await log_in(client, "OAUTHBEARER", OAuthBearerClientExchange(lambda: token, {"tenant": "acme"}))
            await client.ask(ApiKey.METADATA, 1)
            assert str(served.sink.seen[-1].context.principal) == "User:acme/alice/read+write"

    asyncio.run(main())


def test_a_session_lasts_as_long_as_its_token(tmp_path: Path) -> None:
    given = properties() | {JWKS: key_file(tmp_path, ISSUER)}

    async def main() -> None:
        async with serving(given) as served:
            client = await served.dial("SECURE")
            response = await log_in(client, "OAUTHBEARER", bearer(ISSUER.token()))
            assert 3_590_000 < response.session_lifetime_ms <= 3_600_000
        async with serving(given | {"listener.name.secure.oauthbearer.connections.max.reauth.ms": "5000"}) as served:
            client = await served.dial("SECURE")
            assert (await log_in(client, "OAUTHBEARER", bearer(ISSUER.token()))).session_lifetime_ms == 5000
            # an expired token: accepted within the clock skew, but with a lifetime of 0
            response = await log_in(
                await served.dial("SECURE"), "OAUTHBEARER", bearer(ISSUER.token(exp=int(time.time()) - 5))
            )
            assert response.session_lifetime_ms == 0

    asyncio.run(main())


def test_without_keys_and_without_a_named_handler_nothing_starts() -> None:
    (fault,) = faults(properties())
    assert fault.key == f"listener.name.secure.oauthbearer.{JWKS}"
    assert "could not validate tokens" in fault.problem
    assert "OAuthBearerUnsecuredValidatorCallbackHandler" in fault.remedy


@pytest.mark.parametrize(
    ("given", "key", "words"),
    [
        ({JWKS: "nonsense"}, JWKS, "no URL"),
        ({JWKS: "file:///no/such/file"}, JWKS, "No such file"),
        ({HANDLER: "no.such:Handler"}, "sasl.server.callback.handler.class", "ModuleNotFoundError"),
        ({HANDLER: f"{__name__}:Passwords"}, "sasl.server.callback.handler.class", "lacks validate"),
        ({HANDLER: OAUTH + "OAuthBearerValidatorCallbackHandler"}, JWKS, "is missing"),
    ],
)
def test_settings_rejected_at_the_start(given: dict[str, str], key: str, words: str) -> None:
    (fault,) = faults(properties() | given)
    assert fault.key == f"listener.name.secure.oauthbearer.{key}"
    assert words in fault.problem


def test_a_scram_mechanism_has_no_handler() -> None:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    given = properties() | {
        "listener.name.secure.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.secure.scram-sha-256.sasl.jaas.config": module,
        "listener.name.secure.scram-sha-256.sasl.server.callback.handler.class": "a:B",
    }
    (fault,) = faults(given)
    assert fault.key == "listener.name.secure.scram-sha-256.sasl.server.callback.handler.class"


def test_a_wrong_option_of_the_unsecured_handler_and_a_wrong_truststore(tmp_path: Path) -> None:
    module = "listener.name.secure.oauthbearer.sasl.jaas.config"
    given = properties() | {HANDLER: OAUTH + "internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"}
    given[module] = f'{OAUTH}OAuthBearerLoginModule required unsecuredValidatorAllowableClockSkewMs="soon";'
    (fault,) = faults(given)
    assert (fault.key, "AllowableClockSkewMs" in fault.problem) == (module, True)
    given = properties() | {JWKS: "https://127.0.0.1:1/keys"}
    given[module] = f'{OAUTH}OAuthBearerLoginModule required ssl.truststore.location="/no/such/file";'
    (fault,) = faults(given)
    assert (fault.key, fault.entry) == (module, "ssl.truststore.location")


def test_unsigned_tokens_are_accepted_only_if_configured() -> None:
    given = properties() | {HANDLER: OAUTH + "internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"}

    async def main() -> None:
        async with serving(given) as served:
            client = await served.dial("SECURE")
            await log_in(client, "OAUTHBEARER", bearer(forged({"alg": "none"}, {"sub": "anybody", "exp": 2**40})))
            await client.ask(ApiKey.METADATA, 1)
            assert str(served.sink.seen[-1].context.principal) == "User:anybody"

    asyncio.run(main())


def test_keys_are_fetched_in_the_background_and_do_not_block_the_start() -> None:
    endpoint = Endpoint(answering(key_set(ISSUER)))

    async def main() -> None:
        given = properties() | {JWKS: endpoint.url, "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": "20"}
        async with serving(given) as served:
            await log_in(await served.dial("SECURE"), "OAUTHBEARER", bearer(ISSUER.token()))
        endpoint.answer = answering(b"", 503)
        async with serving(given) as served:
            client = await served.dial("SECURE")
            await handshake(client, "OAUTHBEARER")
            assert (await authenticate(client, bearer(ISSUER.token()).first())).auth_bytes
            endpoint.answer = answering(key_set(ISSUER))
            while True:
                client = await served.dial("SECURE")
                await handshake(client, "OAUTHBEARER")
                if not (await authenticate(client, bearer(ISSUER.token()).first())).auth_bytes:
                    break

    with endpoint.open():
        asyncio.run(main())


def test_a_changed_issuer_key_needs_no_restart() -> None:
    new = Issuer("ES256", "new")
    with Endpoint(answering(key_set(ISSUER))).open() as endpoint:

        async def accepted(served: Served, token: str) -> bool:
            client = await served.dial("SECURE")
            await handshake(client, "OAUTHBEARER")
            answer = await authenticate(client, bearer(token).first())
            client.close()
            return not answer.auth_bytes

        async def main() -> None:
            async with serving(properties() | {JWKS: endpoint.url}) as served:
                assert await accepted(served, ISSUER.token())
                endpoint.answer = answering(key_set(new))
                assert not await accepted(served, new.token())  # at once: no login waits for the issuer
                deadline = time.monotonic() + 20
                while not await accepted(served, new.token()):
                    assert time.monotonic() < deadline
                assert endpoint.asked == 2  # however many tokens needed the missing key
                assert not await accepted(served, ISSUER.token())  # no longer published: rejected

        asyncio.run(main())


class Passwords:
    """A callback handler that is slow for one user: it waits for `release`."""

    release = threading.Event()

    def __init__(self, settings: CallbackSettings) -> None:
        self.settings = settings

    def check_password(self, user: str, password: str) -> bool:
        if user == "slow":
            self.release.wait(20)
        if user == "broken":
            raise RuntimeError(f"directory says no to {password}")
        return password == self.settings.options["everybodys"] + self.settings.configs["my.suffix"]


def test_a_password_callback_runs_in_threads(caplog: pytest.LogCaptureFixture) -> None:
    prefix = "listener.name.secure.plain."
    given = properties() | {
        "listener.name.secure.sasl.enabled.mechanisms": "PLAIN",
        f"{prefix}sasl.jaas.config": 'org.apache.kafka.common.security.plain.PlainLoginModule required everybodys="a";',
        f"{prefix}sasl.server.callback.handler.class": f"{__name__}:Passwords",
        f"{prefix}my.suffix": "b",
    }

    async def main() -> None:
        async with serving(given) as served:
            slow = await served.dial("SECURE")
            await handshake(slow)
            answer = asyncio.ensure_future(authenticate(slow, b"\0slow\0ab"))
            quick = await served.dial("SECURE")
            await log_in(quick, "PLAIN", PlainClientExchange("alice", "ab"))  # while the slow login waits
            await quick.ask(ApiKey.METADATA, 1)
            assert not answer.done()
            gone = await served.dial("SECURE")
            await handshake(gone)
            await gone.send(gone.request(ApiKey.SASL_AUTHENTICATE, 1, b"\0\0\0\x08\0slow\0ab"))
            gone.close()
            Passwords.release.set()
            assert (await answer).error_code == 0
            await slow.ask(ApiKey.METADATA, 1)
            for user in ("broken", "alice"):
                wrong = await served.dial("SECURE")
                await handshake(wrong)
                assert (await authenticate(wrong, f"\0{user}\0guess".encode())).error_code == 58
                assert await wrong.ended()

    asyncio.run(main())
    assert "Passwords failed with RuntimeError" in caplog.text
    assert "guess" not in caplog.text


class Tokens:
    def __init__(self, settings: CallbackSettings) -> None:
        self.settings = settings

    def validate(self, token: str) -> AccessToken:
        if token != "opaque-good":
            raise TokenRejected("not in the list")
        return AccessToken("carol", 2**42)

    def rejected_extensions(self, token: AccessToken, extensions: Mapping[str, str]) -> Mapping[str, str]:
        return {}


def test_tokens_of_ones_own() -> None:
    given = properties() | {HANDLER: f"{__name__}:Tokens"}

    async def main() -> None:
        async with serving(given) as served:
            client = await served.dial("SECURE")
            await log_in(client, "OAUTHBEARER", bearer("opaque-good"))
            await client.ask(ApiKey.METADATA, 1)
            assert str(served.sink.seen[-1].context.principal) == "User:carol"
            other = await served.dial("SECURE")
            await handshake(other, "OAUTHBEARER")
            assert (await authenticate(other, bearer("opaque-bad").first())).auth_bytes == b'{"status":"invalid_token"}'

    asyncio.run(main())
